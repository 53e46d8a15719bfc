"""What decoder.sh measured: decoder_read.py OUT...: the fewest cores for a p99 within 10% of the best, the scenario serve beside
the decoder, and decoder.svg with decoder.narrow.svg in the first OUT, of the sweeps of all."""

import csv
import os
import subprocess
import sys

PANELS = ("tpot_p50_ms", "time per token, p50"), ("tpot_p99_ms", "time per token, p99"), ("ttft_p99_ms", "time to the first, p99")


def rows(folder, name):
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        return []
    with open(path) as lines:
        return [row for row in csv.DictReader(lines) if None not in row.values()]


def over_cores(folder, name, column, **only):
    """{cores: the values of all replicas and rounds}."""
    found = {}
    for row in rows(folder, name):
        if all(row[key] == value for key, value in only.items()) and row.get(column):
            found.setdefault(int(row["cores"]), []).append(float(row[column]))
    return dict(sorted(found.items()))


def fewest(curve):
    """The fewest cores whose mean is within 10% of the best mean, and the means."""
    means = {cores: sum(values) / len(values) for cores, values in curve.items()}
    return min(cores for cores in means if means[cores] <= 1.1 * min(means.values())), means


def print_curves(folder):
    replicas = sorted({row["replicas"] for row in rows(folder, "sweep.csv")}, key=int)
    curves = [("sweep.csv", n + " replicas", {"replicas": n}) for n in replicas] + [("rule.csv", "API, core, workers", {})]
    for name, what, only in curves:
        for column in "ttft_p50_ms", "ttft_p99_ms", "tpot_p50_ms", "tpot_p99_ms", "cpus":
            curve = over_cores(folder, name, column, **only)
            if curve:
                enough, means = fewest(curve)
                text = "  ".join("%d: %.4g" % item for item in means.items())
                print("%-19s %-12s %s%s" % (what, column, text, "" if column == "cpus" else "   within 10%% from %s" % enough))


def print_model(folder):
    """Ratios over cores, relative to all cores, of the model and of one decoder."""
    metrics = ("serve_service", "tpot"), ("serve_latency", "ttft")
    for metric, column in metrics:
        for stat in "p50", "p99":
            model = over_cores(folder, "model.csv", "median", metric=metric, stat=stat)
            real = over_cores(folder, "sweep.csv", "%s_%s_ms" % (column, stat), replicas="1")
            shared = [cores for cores in model if cores in real]
            for cores in shared:
                a, b = (sum(curve[cores]) / sum(curve[shared[-1]]) for curve in (model, real))
                print("%-4d cores: %s %s %.2f, decoder's %s %.2f, model off by %+.0f%%" % (cores, metric, stat, a, column, b, 100 * (a / b - 1)))


def write_figure(folders, path):
    panels, lines, names, values = [], [], [], []
    for folder in folders:
        sweep = rows(folder, "sweep.csv")
        gpus = sweep[0]["gpus"]
        for column, title in PANELS:
            for n in sorted({row["replicas"] for row in sweep}, key=int):
                curve = over_cores(folder, "sweep.csv", column, replicas=n)
                names += [n] if n not in names else []
                lines.append((len(panels), n, curve))
                values += [value for point in curve.values() for value in point]
            panels.append("%s GPU%s: %s" % (gpus, "s" if gpus != "1" else "", title))
    names.sort(key=int)
    most = max(cores for _, _, curve in lines for cores in curve)
    heading = "title subtitle footnote x_text y_text panels names lines x_log x_bytes y_log x_low x_high y_low y_high y_from y_counts x_counts steps"
    with open(path, "w") as out:
        print("# contend line_chart\n" + heading, file=out)
        print('"a decoder under load: latency by cores" "Means and ranges of replicas, 4 requests a second each, 32 tokens an answer"'
              ' "" "cores that all replicas share" "ms, log scale"', file=out, end=" ")
        print(len(panels), len(names), len(lines), 1, 0, 1, 1, most, 0.8 * min(values), 1.2 * max(values), 0, 0, 0, 0, file=out)
        print("\n\n# panels", "number name", *('%d "%s"' % item for item in enumerate(panels)), sep="\n", file=out)
        print("\n\n# names", "number name", *('%d "%s replica%s"' % (i, n, "s" if n != "1" else "") for i, n in enumerate(names)), sep="\n", file=out)
        print("\n\n# lines", "number panel name", *("%d %d %d" % (i, panel, names.index(n)) for i, (panel, n, _) in enumerate(lines)), sep="\n", file=out)
        print("\n\n# crosses\nx y\n\n\n# marks\nx solid row left text", file=out)
        for i, (_, _, curve) in enumerate(lines):
            points = ("%d %g %g %g" % (cores, sum(v) / len(v), min(v), max(v)) for cores, v in curve.items())
            print("\n\n# line_%d\nx y low high" % i, *points, sep="\n", file=out)


def main():
    for folder in sys.argv[1:]:
        print(folder)
        print_curves(folder)
        print_model(folder)
    swept = [folder for folder in sys.argv[1:] if rows(folder, "sweep.csv")]
    if swept:
        out, plots = swept[0], os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../plots")
        data = os.path.join(out, "decoder.dat")
        write_figure(swept, data)
        for narrow, name in (0, "decoder"), (1, "decoder.narrow"):
            settings = "figure='decoder'; narrow=%d; data_file='%s'; svg_file='%s.svg'" % (narrow, data, os.path.join(out, name))
            scripts = [os.path.join(plots, script) for script in ("common.gp", "line_chart.gp")]
            command = ["gnuplot", "-e", settings, scripts[0], "-e", "kinds='svg'", scripts[1]]
            subprocess.run(command, check=True, stderr=subprocess.DEVNULL)  # it warns of empty blocks


if __name__ == "__main__":
    main()
