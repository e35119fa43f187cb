/** Compiled JSONPath returns the same nodes as the library. */
import { expect, it } from '@jest/globals'
import { query } from 'jsonpath-rfc9535'
import { compilePath } from '../../lambdas/export/json-path.ts'

const TREE = JSON.parse(
  '{"a":[{"b":"1"},{"b":["2","3"]},{"c":{"b":"4"}},[{"b":"5"}],null,"b"],"b":{"a":{"b":"6"}},"d e":"7","__proto__":{"b":"8"}}',
)

it.each([
  ...[
    '$',
    '$.a',
    '$.a[*]',
    '$.a[*].b',
    '$.a[*][*]',
    '$.*',
    '$.*.b',
    '$.b.a.b',
    "$['b']['a'].b",
    "$['d e']",
    '$.toString',
    '$.a.length',
    '$.none[*].b',
  ],
  ...["$['__proto__'].b", '$.a[0].b', '$.a[-1]', '$.a[0:2].b', '$..b', "$['a','b']", "$.a[?@.b=='1'].b", '$.a[?@.c]'],
])('%s', (path) => expect(compilePath(path)(TREE)).toEqual(query(TREE, path)))
