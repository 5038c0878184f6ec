"""Which blocks of a page are its content, read off the page's true text.

The truth is one text, the page a row of blocks. A longest common subsequence of their words
tells which words of the page are in the truth; a block's label is the share of its words
that are.
"""

import re

WORD = re.compile(r"\w+")


def words(text):
    return WORD.findall(text.lower())


def alignment(page, truth):
    """Pairs of positions (page, truth) of a longest common subsequence, ascending.

    Bit-parallel (Hyyro 2004): bit j of a row is 0 where the subsequence of the page's words so
    far and the truth's first j + 1 words is longer than that of the first j.
    """
    masks = {}
    for at, word in enumerate(truth):
        masks[word] = masks.get(word, 0) | 1 << at
    full = (1 << len(truth)) - 1
    row, rows = full, []
    for word in page:
        both = row & masks.get(word, 0)
        row = (row + both | row - both) & full
        rows.append(row)
    pairs = []
    i, j = len(page), len(truth)
    while i and j:
        if rows[i - 1] >> (j - 1) & 1:
            j -= 1
            continue
        i -= 1
        if i and not rows[i - 1] >> (j - 1) & 1:
            continue
        j -= 1
        pairs.append((i, j))
    return pairs[::-1]


def labels(blocks, truth):
    """The share of each block's words that stands in the truth. `blocks` are lists of words."""
    page = [word for block in blocks for word in block]
    hits = bytearray(len(page))
    chain = []

    def close():
        # A word here and there is no sign: the same words stand in every text.
        if len(chain) >= 4 or len(chain) == len(page):
            for at in chain:
                hits[at] = 1
        chain.clear()

    last = None
    for at, in_truth in alignment(page, truth):
        if last and (in_truth - last[1] > 2 or at - last[0] > 20):
            close()
        chain.append(at)
        last = (at, in_truth)
    close()
    result, start = [], 0
    for block in blocks:
        found = sum(hits[start : start + len(block)])
        result.append(found / len(block) if block else 0.0)
        start += len(block)
    # Text that the truth has in another order: long blocks most of whose runs of four words
    # are in it and not yet found.
    left = {}
    for at in range(len(truth) - 3):
        key = tuple(truth[at : at + 4])
        left[key] = left.get(key, 0) + 1
    def take(block):
        grams = [tuple(block[at : at + 4]) for at in range(len(block) - 3)]
        found = [g for g in grams if left.get(g, 0) > 0]
        for g in found:
            left[g] -= 1
        return len(found) / max(len(grams), 1)
    for at, block in enumerate(blocks):
        if result[at] > 0.5:
            take(block)
    for at, block in enumerate(blocks):
        if result[at] <= 0.3 and len(block) >= 6:
            share = take(block)
            if share > 0.7:
                result[at] = share
    return result
