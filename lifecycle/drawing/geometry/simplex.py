"""Simplex: the best places on a line for things that want to be near each other and must keep their distance."""

from __future__ import annotations

from collections.abc import Sequence

# Far above what any lifecycle needs. Whoever reaches it keeps the places found so far: each step keeps all distances,
# so they are valid, only perhaps not the best.
STEPS_PER_PLACE = 30


class Places:
    """Minimises ``Σ pull·x + Σ weight·|x_b − x_a|`` under ``x_b − x_a ≥ distance``: a network simplex.

    What stands on a tight distance or exactly below each other forms a tree. While cutting one of its arcs and moving
    the part below it makes things cheaper, that part moves, through as many bends of the cost as still fall,
    until the next arc holds it. Whole numbers and halves as input make the arithmetic exact and the result the same
    on every machine.

    Args:
        start: places that keep every distance.
        pulls: per place, what moving it by one costs; they sum to 0.
        near: ``(a, b, weight)`` for what wants to be at the same place.
        apart: ``(a, b, distance)``: b at least that far behind a.
    """

    def __init__(
        self,
        start: Sequence[float],
        *,
        pulls: Sequence[float] | None = None,
        near: Sequence[tuple[int, int, int]] = (),
        apart: Sequence[tuple[int, int, float]] = (),
    ) -> None:
        self.x = list(start)
        count = len(self.x)
        self.slopes = list(pulls) if pulls else [0.0] * count
        self.root = count
        self.x.append(0.0)
        self.slopes.append(0.0)
        self.ends: list[tuple[int, int]] = [(a, b) for a, b, _ in near]
        self.weights: list[int] = [weight for _, _, weight in near]
        self.bends = len(near)
        self.ends += [(a, b) for a, b, _ in apart]
        self.distances: list[float] = [distance for _, _, distance in apart]
        self.arcs_of: list[list[int]] = [[] for _ in self.x]
        for arc, (a, b) in enumerate(self.ends):
            self.arcs_of[a].append(arc)
            self.arcs_of[b].append(arc)
        # For a weight: 1 if b lies behind a, -1 if before; within the tree it has no side.
        self.sides = [1 if self.x[b] > self.x[a] else -1 for a, b in self.ends[: self.bends]]
        self.in_tree = bytearray(len(self.ends))
        self.tree: list[dict[int, int]] = [{} for _ in self.x]
        self._first_tree()

    def best(self) -> list[float]:
        """The places that cost least, each free part in the middle of its slack."""
        for _ in range(STEPS_PER_PLACE * len(self.x)):
            self._order()
            arc, below, direction, slope = self._steepest()
            if arc is None:
                break
            self._pivot(arc, below, direction, slope)
        self._order()
        self._centre()
        return self.x[: self.root]

    # The tree ---------------------------------------------------------------------------------------

    def _first_tree(self) -> None:
        """A first tree out of the tight arcs, the heaviest first; a part joined to nothing is joined to the root."""
        parent = list(range(len(self.x)))

        def top(place: int) -> int:
            while parent[place] != place:
                parent[place] = parent[parent[place]]
                place = parent[place]
            return place

        tight = [arc for arc in range(len(self.ends)) if self._room(arc) == 0]
        tight.sort(key=lambda arc: (-self.weights[arc] if arc < self.bends else 0, arc))
        for arc in tight:
            a, b = self.ends[arc]
            if top(a) != top(b):
                parent[top(a)] = top(b)
                self._join(arc)
        for arc in range(self.bends):
            if not self.in_tree[arc]:
                self._count_bent(arc, 1)
        for place in range(self.root):
            if top(place) != top(self.root):
                parent[top(place)] = top(self.root)
                self.tree[place][self.root] = self.tree[self.root][place] = -1

    def _room(self, arc: int) -> float:
        a, b = self.ends[arc]
        room = self.x[b] - self.x[a]
        return room if arc < self.bends else room - self.distances[arc - self.bends]

    def _join(self, arc: int) -> None:
        a, b = self.ends[arc]
        self.tree[a][b] = self.tree[b][a] = arc
        self.in_tree[arc] = 1

    def _count_bent(self, arc: int, sign: int) -> None:
        """Takes the cost of a bent arc into the slopes of its ends (or out of them, with sign -1)."""
        a, b = self.ends[arc]
        pull = sign * self.weights[arc] * self.sides[arc]
        self.slopes[b] += pull
        self.slopes[a] -= pull

    def _order(self) -> None:
        """Walks the tree from the root: what is below what, and what moving each part would cost."""
        tree = self.tree
        self.over = over = [-1] * len(self.x)
        order = [self.root]
        for place in order:
            above = over[place]
            for neighbour in tree[place]:
                if neighbour != above:
                    over[neighbour] = place
                    order.append(neighbour)
        self.order = order
        self.sums = sums = list(self.slopes)
        for index in range(len(order) - 1, 0, -1):
            place = order[index]
            sums[over[place]] += sums[place]

    def _steepest(self) -> tuple[int | None, int, int, float]:
        """The arc to cut: its number, the part's top, where to and how much that saves per step."""
        best: tuple[int | None, int, int, float] = (None, 0, 0, 0.0)
        saving = 1e-9
        for place in self.order[1:]:
            arc = self.tree[place][self.over[place]]
            slope = self.sums[place]
            if arc < 0:
                gain = abs(slope)
            elif arc < self.bends:
                gain = abs(slope) - self.weights[arc]
            else:
                gain = -slope if self.ends[arc][1] == place else slope
            if gain > saving:
                saving = gain
                best = (arc, place, -1 if slope > 0 else 1, -gain)
        return best

    def _part(self, top: int) -> list[int]:
        part = [top]
        over = self.over
        for place in part:
            part += [below for below in self.tree[place] if over[below] == place]
        return part

    # Moving -----------------------------------------------------------------------------------------

    def _pivot(self, arc: int, top: int, direction: int, slope: float) -> None:
        part = self._part(top)
        stops = self._stops(part, direction)
        above = self.over[top]
        del self.tree[top][above], self.tree[above][top]
        if arc >= 0:
            self.in_tree[arc] = 0
        way = 0.0
        entering = -1
        for distance, is_held, stop in stops:
            if not is_held:
                slope += 2 * self.weights[stop]
            if is_held or slope >= 0:
                way, entering = distance, stop
                break
            self._count_bent(stop, -1)
            self.sides[stop] = -self.sides[stop]
            self._count_bent(stop, 1)
        if entering < 0:  # nothing pulls back: only pulls that do not sum to 0 lead here
            self.tree[top][above] = self.tree[above][top] = arc
            if arc >= 0:
                self.in_tree[arc] = 1
            self.slopes[top] -= self.sums[top]
            return
        if 0 <= arc < self.bends:
            self.sides[arc] = direction if self.ends[arc][1] == top else -direction
            self._count_bent(arc, 1)
        if entering < self.bends:
            self._count_bent(entering, -1)
        if way:
            for place in part:
                self.x[place] += direction * way
        self._join(entering)

    def _stops(self, part: list[int], direction: int) -> list[tuple[float, int, int]]:
        """Where a moving part meets a bend of the cost (0) or a distance it must keep (1), nearest first."""
        inside = set(part)
        stops = []
        x, ends, bends = self.x, self.ends, self.bends
        for place in part:
            for arc in self.arcs_of[place]:
                if self.in_tree[arc]:
                    continue
                a, b = ends[arc]
                other = a if b == place else b
                if other in inside:
                    continue
                if arc < bends:
                    lies = self.sides[arc] if b == place else -self.sides[arc]
                    if lies != direction:
                        stops.append((abs(x[b] - x[a]), 0, arc))
                elif (direction > 0) == (a == place):
                    stops.append((x[b] - x[a] - self.distances[arc - bends], 1, arc))
        stops.sort()
        return stops

    def _centre(self) -> None:
        """Moves each part that may move at no cost to the middle of where it may."""
        for top in self.order[1:]:
            arc = self.tree[top][self.over[top]]
            slope = self.sums[top]
            if arc < 0:
                self._move(top, self._slack(top, 1) / 2 - self._slack(top, -1) / 2)
            elif arc < self.bends:
                if abs(slope) != self.weights[arc] or not slope:
                    continue
                direction = -1 if slope > 0 else 1
                self._move(top, direction * self._slack(top, direction) / 2)
            elif not slope:
                direction = 1 if self.ends[arc][1] == top else -1
                self._move(top, direction * self._slack(top, direction) / 2)

    def _slack(self, top: int, direction: int) -> float:
        """How far a part may move before something stops it; 0 if nothing does."""
        stops = self._stops(self._part(top), direction)
        return max(0.0, stops[0][0]) if stops else 0.0

    def _move(self, top: int, way: float) -> None:
        if way:
            for place in self._part(top):
                self.x[place] += way
