"""Plots as SVG, drawn by hand: dots with ranges for the peers, lines for growth."""

import math
from xml.sax.saxutils import escape

INK = "#1f2933"
MUTED = "#66717d"
GRID = "#e3e7eb"
TAKT = "#1668dc"
PEER = "#9aa5b1"
LINES = ["#1668dc", "#d4380d", "#389e0d", "#722ed1", "#c48a00", "#08979c"]
FONT = 'font-family="system-ui, sans-serif"'


def short(value):
    """1,234,567 as 1.2M."""
    for bound, letter in ((1e6, "M"), (1e3, "k")):
        if value >= bound:
            return f"{value / bound:.3g}{letter}"
    return f"{value:.3g}"


def document(width, height, title, body):
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img"><title>{escape(title)}</title>'
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>{body}</svg>\n'
    )


def text(x, y, words, size=12, color=INK, anchor="start", weight="normal"):
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{color}" {FONT} '
        f'text-anchor="{anchor}" font-weight="{weight}">{escape(words)}</text>'
    )


def line(x1, y1, x2, y2, color, width=1):
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{color}" '
        f'stroke-width="{width}"/>'
    )


def dots(title, note, rows):
    """rows: (name, median, low, high, is_takt). Dots, not bars: rates differ by a thousand, and the
    length of a bar on a logarithmic scale says nothing."""
    rows = [row for row in rows if row[1] and row[1] > 0]
    if not rows:
        return document(760, 80, title, text(16, 40, f"{title}: nothing was measured"))
    left, right, top, step = 170, 90, 64, 26
    width, height = 760, top + step * len(rows) + 34
    low = 10 ** math.floor(math.log10(min(row[2] for row in rows)))
    high = 10 ** math.ceil(math.log10(max(row[3] for row in rows) * 1.001))

    def at(value):
        share = math.log10(max(value, low) / low) / math.log10(high / low)
        return left + (width - left - right) * share

    parts = [text(16, 26, title, 16, weight="600"), text(16, 45, note, 11, MUTED)]
    tick = low
    while tick <= high * 1.001:
        parts.append(line(at(tick), top - 6, at(tick), height - 28, GRID))
        parts.append(text(at(tick), height - 12, short(tick), 11, MUTED, "middle"))
        tick *= 10
    for index, (name, median, least, most, is_takt) in enumerate(rows):
        y = top + step * index
        color = TAKT if is_takt else PEER
        parts.append(text(left - 10, y + 13, name, 12, INK, "end", "600" if is_takt else "normal"))
        parts.append(line(left, y + 9.5, width - right, y + 9.5, GRID))
        parts.append(line(at(least), y + 9.5, at(most), y + 9.5, color, 3))
        for end in (least, most):
            parts.append(line(at(end), y + 5.5, at(end), y + 13.5, color, 1.5))
        parts.append(f'<circle cx="{at(median):.1f}" cy="{y + 9.5}" r="5.5" fill="{color}"/>')
        parts.append(text(at(most) + 12, y + 13.5, short(median), 12))
    return document(width, height, title, "".join(parts))


def lines(title, note, x_label, series, log_y=False):
    """series: {name: [(x, median, low, high)]}; x on a logarithmic scale, y from zero."""
    points = [point for found in series.values() for point in found]
    if not points:
        return document(760, 80, title, text(16, 40, f"{title}: nothing was measured"))
    left, right, top, bottom, width, height = 70, 150, 66, 48, 760, 380
    x_low, x_high = min(p[0] for p in points), max(p[0] for p in points)
    y_high = max(p[3] for p in points) * 1.05
    y_low = min(p[2] for p in points) / 1.3 if log_y else 0

    def at_x(x):
        share = math.log(x / x_low) / math.log(x_high / x_low) if x_high > x_low else 0.5
        return left + (width - left - right) * share

    def at_y(y):
        share = math.log(y / y_low) / math.log(y_high / y_low) if log_y else y / y_high
        return height - bottom - (height - top - bottom) * share

    parts = [text(16, 26, title, 16, weight="600"), text(16, 45, note, 11, MUTED)]
    for index in range(6):
        share = index / 5
        y = y_low * (y_high / y_low) ** share if log_y else y_high * share
        parts.append(line(left, at_y(y), width - right, at_y(y), GRID))
        parts.append(text(left - 8, at_y(y) + 4, short(y), 11, MUTED, "end"))
    for x in sorted({p[0] for p in points}):
        parts.append(text(at_x(x), height - bottom + 18, short(x), 11, MUTED, "middle"))
    parts.append(text((left + width - right) / 2, height - 10, x_label, 12, INK, "middle"))
    labels = []
    for index, (name, found) in enumerate(series.items()):
        color = LINES[index % len(LINES)]
        found = sorted(found)
        path = " ".join(f"{at_x(x):.1f},{at_y(y):.1f}" for x, y, _, _ in found)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2"/>')
        for x, y, least, most in found:
            parts.append(line(at_x(x), at_y(least), at_x(x), at_y(most), color, 1))
            parts.append(f'<circle cx="{at_x(x):.1f}" cy="{at_y(y):.1f}" r="3.5" fill="{color}"/>')
        labels.append([at_y(found[-1][1]) + 4, at_x(found[-1][0]) + 10, name, color])
    labels.sort()
    for previous, label in zip(labels, labels[1:]):  # Names must not cover each other.
        label[0] = max(label[0], previous[0] + 15)
    for y, x, name, color in labels:
        parts.append(text(x, y, name, 12, color, weight="600"))
    return document(width, height, title, "".join(parts))
