// What a picture needs of the page it shows. Each is called with what stands beside its name.

({
  // [[pattern, instead], …]: what differs from run to run is replaced on the page itself.
  mask(patterns) {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const text = patterns.reduce((said, [pattern, instead]) => said.replace(new RegExp(pattern, "g"), instead), node.data);
      if (text !== node.data) node.data = text;
    }
  },

  // The parts' words as they can be read, one line per block; names of pictures and hidden words are none.
  words(selectors) {
    return selectors.map((selector) => document.querySelector(selector).innerText)
      .flatMap((text) => text.split(/\n+/)).map((line) => line.replace(/\s+/g, " ").trim()).filter(Boolean).join("\n");
  },

  // The rectangle around the parts, with some air; `edge` is a part at whose right it ends, where they are wider.
  frame([selectors, edge, air]) {
    const box = (selector) => document.querySelector(selector).getBoundingClientRect();
    const boxes = selectors.map(box);
    const left = Math.max(0, Math.min(...boxes.map((box) => box.left)) + scrollX - air);
    const top = Math.max(0, Math.min(...boxes.map((box) => box.top)) + scrollY - air);
    const last = edge ? box(edge).right : Math.max(...boxes.map((box) => box.right));
    const right = Math.min(document.documentElement.scrollWidth, last + scrollX + air);
    const bottom = Math.max(...boxes.map((box) => box.bottom)) + scrollY + air;
    return { x: left, y: top, width: Math.round(right - left), height: Math.round(bottom - top) };
  },

  // A PNG (base64) in at most 256 colours: {width, height, palette, pixels}; the rarest ones become their nearest.
  async indexed(png) {
    const { data, width, height } = await this.drawn(png);
    const colours = new Uint32Array(data.buffer), count = new Map();
    for (const colour of colours) count.set(colour, (count.get(colour) ?? 0) + 1);
    const palette = [...count].sort((one, other) => other[1] - one[1]).slice(0, 256).map(([colour]) => colour);
    const channels = (colour) => [colour & 255, (colour >> 8) & 255, (colour >> 16) & 255];
    const apart = (one, other) => channels(one).reduce((sum, value, at) => sum + (value - channels(other)[at]) ** 2, 0);
    const place = new Map(palette.map((colour, at) => [colour, at]));
    for (const colour of count.keys()) {
      if (place.has(colour)) continue;
      let nearest = 0;
      palette.forEach((other, at) => { if (apart(colour, other) < apart(colour, palette[nearest])) nearest = at; });
      place.set(colour, nearest);
    }
    let pixels = "";
    for (const colour of colours) pixels += String.fromCharCode(place.get(colour));
    return { width, height, palette: palette.flatMap(channels), pixels: btoa(pixels) };
  },

  // How far apart two PNGs are, from 0 to 1, looked at from afar: fonts differ between machines, layouts do not.
  async difference([one, other]) {
    const far = { width: 24, height: 24 };
    const [first, second] = [await this.drawn(one, far), await this.drawn(other, far)];
    return first.data.reduce((sum, value, at) => sum + Math.abs(value - second.data[at]), 0) / first.data.length / 255;
  },

  async drawn(png, size) {
    const bitmap = await createImageBitmap(await (await fetch(`data:image/png;base64,${png}`)).blob());
    const { width, height } = size ?? bitmap;
    const canvas = new OffscreenCanvas(width, height), context = canvas.getContext("2d");
    context.imageSmoothingQuality = "high";
    context.drawImage(bitmap, 0, 0, width, height);
    return context.getImageData(0, 0, width, height);
  },
})
