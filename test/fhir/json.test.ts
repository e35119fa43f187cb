/** JSON of FHIR: decimals keep their text, and invalid texts are rejected with a position. https://hl7.org/fhir/R4/json.html */
import { describe, expect, it } from '@jest/globals'
import { decimalTextOf, isDecimal, parseJson, parseJsonBytes, writeJson } from '../../lambdas/fhir/json.ts'
import { FhirError } from '../../lambdas/fhir/outcome.ts'

const refusal = (text: string): string => {
  try {
    parseJson(text)
  } catch (error) {
    if (error instanceof FhirError) return `${error.status} ${error.issues[0]!.code} ${error.message}`
    throw error
  }
  return 'accepted'
}

describe('decimals', () => {
  it.each(['1.10', '1.0', '0.00', '-0', '1e3', '1E-7', '1000000000000000000000000', '0.1234567890123456789', '-1.50', '9007199254740993'])(
    'keep their text: %s',
    (number) => {
      const tree = parseJson(`{"value":${number},"list":[${number}]}`) as { value: string }
      expect(isDecimal(tree.value)).toBe(true)
      expect(decimalTextOf(tree.value)).toBe(number)
      expect(writeJson(tree)).toBe(`{"value":${number},"list":[${number}]}`)
    },
  )
  it.each(['0', '1', '-1', '1.5', '120', '0.001', '123456789'])('are plain numbers if that keeps their text: %s', (number) => {
    expect(parseJson(`[${number}]`)).toEqual([Number(number)])
  })
  it('leave strings unchanged that look like a number or like the internal mark', () => {
    const text = '{"a":"1.10","b":"\\\\u00001.10","c":"say \\"1.10\\"","d":"\\\\"}'
    expect(writeJson(parseJson(text))).toBe(text)
  })
})

describe('the parser', () => {
  it.each([
    ['{"a":1,"a":2}', '400 structure The body is not valid JSON: the same property twice in one object (line 1, column 8)'],
    ['{"a":{"__proto__":{}}}', '400 structure The body is not valid JSON: a property may not be named __proto__ (line 1, column 7)'],
    ['{"a":\n tru}', '400 structure The body is not valid JSON: a value is expected (line 2, column 2)'],
    ['{"a":1', '400 structure The body is not valid JSON: the document ends too early (line 1, column 7)'],
    ['{"a":01}', "400 structure The body is not valid JSON: ',' is expected (line 1, column 7)"],
    ['{"a":1.}', "400 structure The body is not valid JSON: ',' is expected (line 1, column 7)"],
    ['{"a":"\\"\\\\\\/\\u00e9\\n",\n\n"b"}', "400 structure The body is not valid JSON: ':' is expected (line 3, column 4)"],
    ...['"\\x"', '"\\u00g0"', '"\\', '"a', '"\n"'].map((text): [string, string] => [
      `{"a":${text}}`,
      '400 structure The body is not valid JSON: a string that does not end, or has a control character or a wrong escape in it (line 1, column 6)',
    ]),
    ['{} {}', '400 structure The body is not valid JSON: text after the end of the document (line 1, column 4)'],
    ['', '400 structure The body is not valid JSON: the document ends too early (line 1, column 1)'],
    [
      '{"a":"\u0001"}',
      '400 structure The body is not valid JSON: a string that does not end, or has a control character or a wrong escape in it (line 1, column 6)',
    ],
    ['{"a":"\\u0000"}', '400 value The character U+0000 is not allowed in FHIR strings'],
    ['['.repeat(65) + ']'.repeat(65), '400 structure The JSON is nested deeper than 64 levels'],
  ])('rejects invalid text: %j', (text, expected) => expect(refusal(text)).toBe(expected))

  it('reports line and column even in texts of many millions of characters', () => {
    expect(refusal(`{"a":"${'x'.repeat(15_000_000)}",}`)).toMatch('a property name in double quotes is expected (line 1, column 15000009)')
    const lines = `{"a":"${'\\n'.repeat(1_000_000)}"}${'\n'.repeat(1_000_000)}]`
    expect(refusal(lines)).toMatch('text after the end of the document (line 1000001, column 1)')
  })
  it('rejects bytes that are not UTF-8', () => {
    expect(() => parseJsonBytes(new Uint8Array([0x22, 0xff, 0x22]))).toThrow('The body is not valid UTF-8')
  })
  it('rejects more decimals than a resource of its length can have', () => {
    const decimals = (many: number, each: string) => `[${Array(many).fill(each).join(',')}]`
    expect(refusal(decimals(1_000, '1.10'))).toBe('accepted')
    expect(refusal(decimals(1_001, '1.10'))).toBe('400 structure The JSON has more decimals than a resource of its length can have')
    expect(refusal(decimals(10_000, '{"value":1.0}'))).toBe('accepted')
  })
  it('accepts 64 levels of nesting', () => expect(refusal('['.repeat(64) + ']'.repeat(64))).toBe('accepted'))
})

it('the parser and JSON.parse return equal trees for random JSON', () => {
  let seed = 7
  const random = (n: number): number => {
    seed = (seed * 1103515245 + 12345) % 2147483648
    return seed % n
  }
  const make = (depth: number): unknown => {
    const kind = random(depth > 4 ? 4 : 6)
    if (kind === 0) return random(100000) / 8
    if (kind === 1) return ['', 'a"b', 'x\\', '\u00e9', ':{[', '\n'][random(6)]
    if (kind === 2) return random(2) === 0
    if (kind === 3) return null
    if (kind === 4) return Array.from({ length: random(4) }, () => make(depth + 1))
    return Object.fromEntries(Array.from({ length: random(4) }, (_, i) => [`k${i}${random(9)}`, make(depth + 1)]))
  }
  for (let round = 0; round < 500; round++) {
    const tree = make(0)
    expect(parseJson(JSON.stringify(tree, undefined, random(3)))).toEqual(tree)
  }
})

describe('JSON that is larger than any resource of its length', () => {
  const wide = (many: number) => `{${Array.from({ length: many }, (_, i) => `"a${i}":1`).join(',')}}`
  const list = (many: number, item: string) => `{"a":[${Array.from({ length: many }, () => item).join(',')}]}`

  it('is rejected if an object has more than a thousand properties', () => {
    expect(Object.keys(parseJson(wide(1_000)) as object)).toHaveLength(1_000)
    expect(() => parseJson(wide(1_001))).toThrow('has an object of more than 1000 properties')
    expect(() => parseJson(list(3, wide(900)))).not.toThrow()
    expect(() => parseJson(`{"a":${wide(600)},"b":${wide(600)}}`)).not.toThrow()
    expect(() => parseJson(`{"a":{"b":{}},${wide(1_001).slice(1)}`)).toThrow('more than 1000 properties')
  })

  it('is rejected if it has a thousand empty objects or arrays', () => {
    for (const empty of ['{}', '[]', '[{}]']) expect(() => parseJson(list(1_000, empty))).toThrow('more objects and arrays')
    expect(() => parseJson(list(900, '{}'))).not.toThrow()
    expect(() => parseJson(list(100_000, '{"coding":[{"code":"a"}]}'))).not.toThrow()
    expect(() => parseJson(list(100_000, '{"a":[{"b":1}]}'))).not.toThrow()
  })
})
