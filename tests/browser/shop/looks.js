// looks.js: what is wrong with the page for people who see little, hear it, or hold it in one hand.
() => {
  const faults = [];
  const shown = (element) => element.checkVisibility({ checkVisibilityCSS: true });
  const name = (element) => {
    const by = (element.getAttribute("aria-labelledby") || "").split(" ").map((id) => document.getElementById(id)?.textContent || "");
    return (element.getAttribute("aria-label") || by.join("") || element.textContent || "").trim();
  };
  const about = (element) => `<${element.tagName.toLowerCase()}${element.id ? ` id=${element.id}` : ""}> ${(element.textContent || "").trim().slice(0, 40)}`;

  if (document.documentElement.scrollWidth > window.innerWidth) faults.push(`wider than the window: ${document.documentElement.scrollWidth} px`);
  if (!document.documentElement.lang) faults.push("no language");
  if (document.querySelectorAll("h1").length !== 1) faults.push(`${document.querySelectorAll("h1").length} h1`);
  let level = 0;
  for (const heading of document.querySelectorAll("h1, h2, h3, h4, h5, h6")) {
    const next = Number(heading.tagName[1]);
    if (next > level + 1) faults.push(`${about(heading)} follows a heading of level ${level}`);
    level = next;
  }
  const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
  for (const id of new Set(ids.filter((one, place) => ids.indexOf(one) !== place))) faults.push(`id ${id} twice`);
  for (const attribute of ["aria-describedby", "aria-labelledby", "for"]) {
    for (const element of document.querySelectorAll(`[${attribute}]`)) {
      for (const id of element.getAttribute(attribute).split(" ")) {
        if (!document.getElementById(id)) faults.push(`${about(element)}: ${attribute} names ${id}, which is not there`);
      }
    }
  }
  for (const field of document.querySelectorAll("input:not([type=hidden]), select, textarea")) {
    if (!field.labels.length && !field.getAttribute("aria-label")) faults.push(`${about(field)} has no label`);
  }
  for (const element of document.querySelectorAll("button, a, summary, [role=img], [role=group], nav")) {
    if (!name(element)) faults.push(`${about(element)} has no name`);
  }
  for (const time of document.querySelectorAll("time:not([datetime])")) faults.push(`${about(time)} without datetime`);
  for (const table of document.querySelectorAll("table")) {
    if (!table.caption) faults.push("a table without a caption");
    if (table.querySelector("th:not([scope])")) faults.push("a th without scope");
  }

  // Contrast: every visible text on the nearest ground that is painted.
  const channels = (colour) => (colour.match(/[\d.]+/g) || []).map(Number);
  const luminance = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = channels(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    if (!texts.currentNode.textContent.trim() || !shown(element) || element.closest("svg, noscript, script")) continue;
    const style = getComputedStyle(element);
    const [light, dark] = [luminance(channels(style.color)), luminance(ground(element))].sort((a, b) => b - a);
    const ratio = (light + 0.05) / (dark + 0.05);
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && Number(style.fontWeight) >= 600);
    if (ratio < (large ? 3 : 4.5)) faults.push(`${about(element)}: contrast ${ratio.toFixed(2)}`);
  }

  // What is touched is big enough to be hit.
  const least = window.innerWidth < 600 ? 36 : 28;
  for (const button of document.querySelectorAll("main button, main .lc-btn, main input:not([type=hidden]), main select")) {
    if (shown(button) && button.getBoundingClientRect().height < least - 0.5) faults.push(`${about(button)} is ${button.getBoundingClientRect().height} px high`);
  }
  return [...new Set(faults)];
}
