#!/bin/sh
# Writes the sources that the recorded outputs are of: one folder a tool, each with two failing tests (or more), one
# that passes and one that is skipped. Usage: make.sh FOLDER
set -eu
mkdir -p "$1" && cd "$1"

mkdir -p pytest/tests && cd pytest
cat > tests/test_sums.py <<'END'
import pytest


def test_adds():
    assert 1 + 1 == 3


def test_adds_more():
    assert 1 + 1 == 3


def test_passes():
    pass


@pytest.mark.skip(reason="not now")
def test_later():
    pass


class TestTable:
    @pytest.mark.parametrize("key", ["a b", "c::d"])
    def test_finds(self, key):
        raise KeyError(key)


@pytest.fixture
def broken():
    raise RuntimeError("no database")


def test_setup(broken):
    pass


@pytest.mark.xfail
def test_known():
    assert False
END
cat > tests/test_import.py <<'END'
import no_such_module
END
cd ..

mkdir -p unittest && cd unittest
cat > test_sums.py <<'END'
import unittest


class Sums(unittest.TestCase):
    def test_adds(self):
        self.assertEqual(1 + 1, 3)

    def test_adds_more(self):
        """Adds more."""
        self.assertEqual(1 + 1, 3)

    def test_passes(self):
        pass

    @unittest.skip("not now")
    def test_later(self):
        pass

    def test_each(self):
        for number in (1, 2):
            with self.subTest(number=number):
                self.assertEqual(number, 0, "not nothing")

    def test_raises(self):
        raise KeyError("key")
END
cat > test_import.py <<'END'
import no_such_module
END
cd ..

mkdir -p node/test && cd node
cat > test/sums.test.js <<'END'
const test = require('node:test');
const assert = require('node:assert');

test('adds', () => assert.strictEqual(1 + 1, 3));
test('passes', () => {});
test('later', { skip: true }, () => {});
test.describe('table', () => {
  test.it('finds', () => assert.deepStrictEqual({ a: 1 }, { a: 2 }));
  test.it('has', () => {});
});
test('rejects', async () => { throw new TypeError('no database'); });
END
cat > test/broken.test.js <<'END'
require('./no-such-module');
END
cd ..

mkdir -p tsc && cd tsc
cat > tsconfig.json <<'END'
{ "compilerOptions": { "noEmit": true, "strict": true, "types": [] }, "files": ["a.ts", "b.ts"] }
END
cat > a.ts <<'END'
export const one: number = "1";
export const two: number = "2";
interface Both { left: number; right: number }
export const both: Both = { left: "1" };
END
cat > b.ts <<'END'
import { missing } from "./a";
missing();
END
cd ..

mkdir -p ruff && cd ruff
cat > a.py <<'END'
import os
import sys


def f():
    return undefined
END
printf 'def broken(:\n' > b.py
printf 'x=1\n' > c.py
cd ..

mkdir -p mypy && cd mypy
cat > a.py <<'END'
import no_such_module


def f(x: int) -> str:
    return x


def g(x: int) -> str:
    return x


f("1", 2)
END
cd ..

mkdir -p go/deep go/broken && cd go
printf 'module example.com/sums\n\ngo 1.21\n' > go.mod
cat > sums_test.go <<'END'
package sums

import "testing"

func TestAdds(t *testing.T) {
	if 1+1 != 3 {
		t.Errorf("expected 3 got %d", 1+1)
	}
}

func TestPasses(t *testing.T) {}

func TestLater(t *testing.T) { t.Skip("not now") }

func TestTable(t *testing.T) {
	for _, name := range []string{"a b", "c"} {
		t.Run(name, func(t *testing.T) { t.Fatal("expected 3 got 4") })
	}
}
END
cat > deep/deep_test.go <<'END'
package deep

import "testing"

func TestAdds(t *testing.T) {
	var m map[string]int
	m["a"] = 1
}
END
cat > broken/broken_test.go <<'END'
package broken

import "testing"

func TestIt(t *testing.T) { undefined() }
END
cd ..

mkdir -p cargo/src cargo/tests && cd cargo
printf '[package]\nname = "sums"\nversion = "0.1.0"\nedition = "2021"\n' > Cargo.toml
cat > src/lib.rs <<'END'
/// ```
/// assert_eq!(1 + 1, 3);
/// ```
pub fn add(a: i32, b: i32) -> i32 {
    a + b
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds() {
        assert_eq!(add(1, 1), 3);
    }

    #[test]
    fn adds_more() {
        assert_eq!(add(1, 1), 3, "more");
    }

    #[test]
    fn passes() {}

    #[test]
    #[ignore]
    fn later() {}

    #[test]
    fn fails() -> Result<(), String> {
        Err("no database".into())
    }
}
END
printf '#[test]\nfn whole() {\n    panic!("no server");\n}\n' > tests/whole.rs
cd ..
mkdir -p rustc/src && cd rustc
printf '[package]\nname = "sums"\nversion = "0.1.0"\nedition = "2021"\n' > Cargo.toml
cat > src/lib.rs <<'END'
pub fn one() -> i32 {
    "1"
}
pub fn two() -> i32 {
    undefined
}
END
cd ..
