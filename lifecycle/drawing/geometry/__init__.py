"""Geometry: from a graph to the places of its boxes, labels and lines, in pixels."""
