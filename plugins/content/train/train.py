"""Trains the page model and the block model, and measures them across sites.

Usage: train.py DUMP... --out FOLDER [--check]

A DUMP is what `cargo run --example dump` wrote of a folder of pages with ground truth
(`DUMP.jsonl` and `DUMP.bin`). With `--check` the models are first trained five times on four
fifths of the sites and measured on the last fifth. Results depend on nothing but the dumps,
this file and the versions in requirements.txt.
"""

import argparse
import collections
import hashlib
import json
import pathlib
import struct
import tempfile
from urllib.parse import urlsplit

import numpy
from catboost import CatBoost, Pool

from labels import labels, words

TYPES = ["article", "collection", "documentation", "forum", "listing", "product", "service"]
FOLDS = 5
# More blocks of one page say little more; those left stand for the rest.
MOST_BLOCKS = 500
# How far the rules' verdict shifts the odds of a block of an article: see `content.rs`.
RULES = 0.8
COMMON = dict(
    bootstrap_type="Bernoulli",
    subsample=0.7,
    border_count=48,
    thread_count=2,
    verbose=0,
    allow_writing_files=False,
    random_seed=1,
)
PAGE_MODEL = dict(COMMON, loss_function="MultiClass", iterations=80, depth=4, learning_rate=0.1,
                  l2_leaf_reg=8, rsm=0.4, classes_count=len(TYPES))
BLOCK_MODEL = dict(COMMON, loss_function="CrossEntropy", iterations=400, depth=6,
                   learning_rate=0.06, l2_leaf_reg=15, rsm=0.3)


def site(url):
    """The registrable domain of a URL, by a rule of thumb for `co.uk` and the like."""
    parts = (urlsplit(url).hostname or "").split(".")
    second = len(parts) > 2 and len(parts[-2]) <= 3 and len(parts[-1]) == 2
    return ".".join(parts[-3:] if second else parts[-2:])


def read(dump):
    """The pages of a dump, and the names of their features."""
    with open(f"{dump}.jsonl", encoding="utf-8") as lines:
        names = json.loads(next(lines))["names"]
        rows = numpy.fromfile(f"{dump}.bin", dtype=numpy.uint8).reshape(-1, len(names))
        pages, at = [], 0
        for line in lines:
            page = json.loads(line)
            page["blocks"] = [words(text) for text in page.pop("texts")]
            page["rows"] = rows[at : at + len(page["blocks"])].copy()
            at += len(page["blocks"])
            truth = words(page.pop("truth"))
            page["labels"] = numpy.array(labels(page["blocks"], truth), dtype=numpy.float32)
            page["lengths"] = numpy.array([len(b) for b in page["blocks"]], dtype=numpy.float32)
            page["truth_length"] = len(truth)
            page["truth"] = collections.Counter(truth)
            page["site"] = site(page["url"])
            page["dump"] = pathlib.Path(dump).name
            pages.append(page)
    return pages, names


def divide(pages):
    """Gives every page a fold: all pages of a site the same, types evenly."""
    sites = collections.defaultdict(list)
    for page in pages:
        sites[page["site"]].append(page)
    counts = [collections.Counter() for _ in range(FOLDS)]
    order = sorted(sites, key=lambda s: (-len(sites[s]), hashlib.md5(s.encode()).hexdigest()))
    for name in order:
        types = collections.Counter(page["type"] for page in sites[name])
        fold = min(range(FOLDS), key=lambda f: (
            sum(counts[f][t] * n for t, n in types.items()), sum(counts[f].values())))
        counts[fold].update(types)
        for page in sites[name]:
            page["fold"] = fold


def train_pages(pages):
    model = CatBoost(PAGE_MODEL)
    model.fit(numpy.array([p["page"] for p in pages], dtype=numpy.float32),
              [TYPES.index(p["type"]) for p in pages])
    return model


def tell_types(pages, columns):
    """Writes into every block's row what a model that has not seen the page's site says of
    the page's type."""
    for fold in range(FOLDS):
        model = train_pages([p for p in pages if p["fold"] != fold])
        rest = [p for p in pages if p["fold"] == fold]
        answers = model.predict(numpy.array([p["page"] for p in rest], dtype=numpy.float32),
                                prediction_type="Probability")
        for page, answer in zip(rest, answers):
            page["types"] = answer
            page["rows"][:, columns] = (answer * 127).astype(numpy.uint8)


def weights(page):
    """A block counts by its share of the truth, a page never more than thrice."""
    weight = page["lengths"] / (page["truth_length"] + 30.0)
    return weight * min(1.0, 3.0 / max(weight.sum(), 1e-6))


def train_blocks(pages):
    rows, targets, weight = [], [], []
    for page in pages:
        count = len(page["rows"])
        chosen, each = numpy.arange(count), 1.0
        if count > MOST_BLOCKS:
            random = numpy.random.RandomState(count)
            chosen = numpy.sort(random.choice(count, MOST_BLOCKS, replace=False))
            each = count / MOST_BLOCKS
        rows.append(page["rows"][chosen])
        targets.append(page["labels"][chosen])
        weight.append(weights(page)[chosen] * each)
    model = CatBoost(BLOCK_MODEL)
    model.fit(Pool(numpy.concatenate(rows).astype(numpy.float32), numpy.concatenate(targets),
                   weight=numpy.concatenate(weight)))
    return model


def chosen(page, logits):
    """The blocks that the extractor keeps: see `decide.rs`."""
    by_rules = numpy.where(page["kept"], 1.0, -1.0)
    share = 1 / (1 + numpy.exp(-(logits + RULES * page["types"][0] * by_rules)))
    lengths = page["lengths"]
    total, border = (lengths * share).sum(), 0.45
    for _ in range(6):
        keep = share >= border
        border = (lengths * share)[keep].sum() / max(lengths[keep].sum() + total, 1e-6)
    return share >= border


def f1(page, found):
    common, size = sum((found & page["truth"]).values()), sum(found.values())
    return 2 * common / (size + page["truth_length"]) if size + page["truth_length"] else 1.0


def report(dump, pages):
    """Prints the scores of one set's pages."""
    for name in ("by_rules", "by_both"):
        scores = numpy.array([p[name] for p in pages])
        error = scores.std() / len(scores) ** 0.5
        types = {t: [p[name] for p in pages if p["type"] == t] for t in TYPES}
        print(f"{dump}, {len(pages)} pages, {name}: {scores.mean():.4f} +- {error:.4f}",
              " ".join(f"{t} {numpy.mean(v):.3f}" for t, v in types.items() if v))
    gain = numpy.array([p["by_both"] - p["by_rules"] for p in pages])
    print(f"{dump}, both over rules: {gain.mean():+.4f} +- {gain.std() / len(gain) ** 0.5:.4f}")


def check(pages):
    """Measures both models on sites that they were not trained on."""
    for fold in range(FOLDS):
        model = train_blocks([p for p in pages if p["fold"] != fold])
        for page in (p for p in pages if p["fold"] == fold):
            found = collections.Counter()
            if len(page["rows"]):
                logits = model.predict(page["rows"].astype(numpy.float32),
                                       prediction_type="RawFormulaVal")
                for block in numpy.nonzero(chosen(page, logits))[0]:
                    found.update(page["blocks"][block])
            page["by_both"] = f1(page, found)
            page["by_rules"] = f1(page, collections.Counter(words(page["rules"])))
    for dump in dict.fromkeys(page["dump"] for page in pages):
        report(dump, [page for page in pages if page["dump"] == dump])
    right = numpy.mean([TYPES[int(numpy.argmax(p["types"]))] == p["type"] for p in pages])
    print(f"types told right: {right:.3f}")


def export(model, outputs, path):
    """Writes a model as `forest.rs` reads it."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "model.json"
        model.save_model(str(file), format="json")
        data = json.loads(file.read_text())
    scale, bias = data["scale_and_bias"]
    bias = bias if isinstance(bias, list) else [bias]
    trees = data["oblivious_trees"]
    unit = max(abs(v) for tree in trees for v in tree["leaf_values"]) * scale / 32767
    out = bytearray(b"OWF1" + struct.pack("<HBf", len(trees), outputs, unit))
    for value in (bias + [0.0] * outputs)[:outputs]:
        out += struct.pack("<f", value)
    for tree in trees:
        splits = tree.get("splits") or []
        out.append(len(splits))
        for split in splits:
            out += struct.pack("<HB", split["float_feature_index"], int(split["border"]))
        leaves = tree["leaf_values"]
        for output in range(outputs):
            for value in leaves[output::outputs]:
                out += struct.pack("<h", round(value * scale / unit))
    pathlib.Path(path).write_bytes(out)
    print(f"{path}: {len(trees)} trees, {len(out)} bytes")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dumps", nargs="+")
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    pages, names = [], None
    for dump in arguments.dumps:
        more, names = read(dump)
        pages += more
    columns = [names.index(f"type_{t}") for t in TYPES]
    divide(pages)
    tell_types(pages, columns)
    if arguments.check:
        check(pages)
    if arguments.out:
        export(train_pages(pages), len(TYPES), arguments.out / "page-type.bin")
        export(train_blocks(pages), 1, arguments.out / "blocks.bin")


if __name__ == "__main__":
    main()
