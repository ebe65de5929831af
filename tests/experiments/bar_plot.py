"""Grouped bars on a logarithmic scale, as a self-contained SVG."""
import html
import math

WIDTH, HEIGHT = 1100, 520
LEFT, RIGHT, TOP, BOTTOM = 70, 20, 50, 110
COLOURS = ["#d62728", "#ff9896", "#e377c2", "#7f7f7f", "#1f77b4", "#aec7e8", "#17becf", "#9edae5", "#2ca02c", "#98df8a",
           "#bcbd22", "#dbdb8d", "#8c564b", "#c49c94", "#9467bd", "#c5b0d5"]


def ticks(least, most):
    """1, 2 and 5 times the powers of ten from `least` to `most`."""
    numbers = [step * 10.0 ** power for power in range(-6, 10) for step in (1, 2, 5)]
    return [n for n in numbers if least <= n <= most]


def bar_plot(groups, series, values, title, unit, base=None):
    """values[group][series]: a number above 0, or None where there is none. Bars start at `base`, or at the bottom."""
    given = [v for of_group in values for v in of_group if v]
    least, most = min(given) / 1.3, max(given) * 1.3
    span = math.log(most / least)
    plot_height = HEIGHT - TOP - BOTTOM

    def y_of(value):
        return TOP + plot_height * (1 - math.log(value / least) / span)

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
             'font-size="12">', f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
             f'<text x="{LEFT}" y="28" font-size="17">{html.escape(title)}</text>',
             f'<text x="16" y="{TOP + plot_height / 2:.0f}" text-anchor="middle" '
             f'transform="rotate(-90 16 {TOP + plot_height / 2:.0f})">{html.escape(unit)}</text>']
    for tick in ticks(least, most):
        y = y_of(tick)
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" '
                     f'stroke="{"#888" if tick == 1 else "#ddd"}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>')
    group_width = (WIDTH - LEFT - RIGHT) / len(groups)
    bar_width = group_width * 0.86 / len(series)
    for g, group in enumerate(groups):
        start = LEFT + group_width * (g + 0.07)
        for s, value in enumerate(values[g]):
            if not value:
                continue
            y, foot = sorted((y_of(value), y_of(base) if base else HEIGHT - BOTTOM))
            parts.append(f'<rect x="{start + s * bar_width:.1f}" y="{y:.1f}" width="{bar_width * 0.92:.1f}" '
                         f'height="{max(foot - y, 1):.1f}" fill="{COLOURS[s % len(COLOURS)]}">'
                         f'<title>{html.escape(f"{group}, {series[s]}: {value:.3g} {unit}")}</title></rect>')
        parts.append(f'<text x="{start + group_width * 0.43:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">'
                     f'{html.escape(group)}</text>')
    columns = 8
    for s, name in enumerate(series):
        x = LEFT + (s % columns) * (WIDTH - LEFT - RIGHT) / columns
        y = HEIGHT - BOTTOM + 45 + s // columns * 22
        parts.append(f'<rect x="{x:.0f}" y="{y - 10}" width="12" height="12" fill="{COLOURS[s % len(COLOURS)]}"/>')
        parts.append(f'<text x="{x + 17:.0f}" y="{y}">{html.escape(name)}</text>')
    parts.append("</svg>\n")
    return "\n".join(parts)
