import { afterEach, describe, expect, it } from '@jest/globals'
import { baseOf, linesIn } from './changed-lines.ts'

describe('linesIn', () => {
  it('returns added and changed lines of TypeScript files', () => {
    const diff = `diff --git a/lib/a.ts b/lib/a.ts
--- a/lib/a.ts
+++ b/lib/a.ts
@@ -3 +3,2 @@ function b()
-one
+two
+three
@@ -9,2 +10,0 @@
-four
-five
@@ -20,0 +19 @@
+six
diff --git a/lib/README.md b/lib/README.md
--- a/lib/README.md
+++ b/lib/README.md
@@ -1 +1 @@
-a
+b
diff --git a/lib/gone.ts b/lib/gone.ts
--- a/lib/gone.ts
+++ /dev/null
@@ -1 +0,0 @@
-a`
    expect(linesIn(diff)).toEqual(new Map([['lib/a.ts', new Set([3, 4, 19])]]))
  })

  it('returns nothing for an empty diff', () => expect(linesIn('')).toEqual(new Map()))
})

describe('baseOf', () => {
  const before = process.env.FHIR_BASE
  afterEach(() => {
    if (before === undefined) delete process.env.FHIR_BASE
    else process.env.FHIR_BASE = before
  })

  it('prefers the argument to the environment', () => {
    process.env.FHIR_BASE = 'b'
    expect([baseOf('a'), baseOf(undefined)]).toEqual(['a', 'b'])
  })
})
