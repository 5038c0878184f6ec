//! Mutations of inputs, the same for the same seed.

use fastrand::Rng;

/// Bytes that mean something to one parser or another.
const TOKENS: &[&[u8]] = &[
    b"<",
    b">",
    b"</",
    b"/>",
    b"<!--",
    b"-->",
    b"<![CDATA[",
    b"&amp;",
    b"&#x0;",
    b"\"",
    b"'",
    b"=",
    b"\0",
    b"\r\n",
    b"\n",
    b"\t",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"\xf0\x9f\x98\x80",
    b"\xc3",
    b"{",
    b"}",
    b"[",
    b"]",
    b":",
    b",",
    b"\\",
    b"\\u0000",
    b"null",
    b"true",
    b"-1",
    b"1e999",
    b"18446744073709551616",
    b"*",
    b"?",
    b"#",
    b"@",
    b"%",
    b"%00",
    b"%2e%2e",
    b"..",
    b"//",
    b"://",
    b"http://",
    b"https://[::1]",
    b"javascript:",
    b"0x7f.1",
    b"xn--",
    b";",
    b"domain=",
    b"$",
    b"*/1",
    b"L",
    b"W",
    b"<script>",
    b"<table>",
    b"<svg>",
    b"<template>",
    b"<a href=",
    b"<base href=",
];

/// Makes inputs from inputs.
pub struct Mutator {
    random: Rng,
    max_len: usize,
}

impl Mutator {
    /// Of inputs of at most `max_len` bytes.
    pub fn new(seed: u64, max_len: usize) -> Self {
        Self {
            random: Rng::with_seed(seed),
            max_len,
        }
    }

    /// One of the inputs, changed in one to eight places.
    pub fn next(&mut self, inputs: &[Vec<u8>]) -> Vec<u8> {
        let mut data = self.pick(inputs).to_vec();
        for _ in 0..=self.random.usize(..8) {
            self.change(&mut data, inputs);
        }
        data.truncate(self.max_len);
        data
    }

    fn pick<'a>(&mut self, inputs: &'a [Vec<u8>]) -> &'a [u8] {
        match inputs {
            [] => &[],
            inputs => &inputs[self.random.usize(..inputs.len())],
        }
    }

    fn change(&mut self, data: &mut Vec<u8>, inputs: &[Vec<u8>]) {
        let at = self.random.usize(..=data.len());
        let some = |random: &mut Rng, most: usize| random.usize(..=most.min(64));
        match self.random.u8(..8) {
            0 if at < data.len() => data[at] ^= 1 << self.random.u8(..8),
            1 if at < data.len() => data[at] = self.random.u8(..),
            2 => {
                let end = at + some(&mut self.random, data.len() - at);
                data.drain(at..end);
            }
            3 => {
                let end = at + some(&mut self.random, data.len() - at);
                let part = data[at..end].repeat(1 + self.random.usize(..8));
                data.splice(at..at, part);
            }
            4 => {
                let other = self.pick(inputs).to_vec();
                let from = self.random.usize(..=other.len());
                let end = from + some(&mut self.random, other.len() - from);
                data.splice(at..at, other[from..end].iter().copied());
            }
            5 => data.truncate(at),
            _ => {
                let token = TOKENS[self.random.usize(..TOKENS.len())];
                data.splice(at..at, token.iter().copied());
            }
        }
    }
}
