/** Bytes packed with a dictionary: all bytes are restored; damaged bytes throw or unpack to a limited length. */
import { describe, expect, it } from '@jest/globals'
import { MAX_UNPACKED_BYTES } from '../../lambdas/adapters/dictionary-codec/format.ts'
import { Packer } from '../../lambdas/adapters/dictionary-codec/packer.ts'
import { UnpackError, unpack } from '../../lambdas/adapters/dictionary-codec/unpack.ts'

const bytesOf = (text: string): Uint8Array => new Uint8Array(Buffer.from(text))
const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString()

const UUID = '0f8fad5b-d9cb-469f-a165-70867728950e'
const DICTIONARY = bytesOf(`{"resourceType":"Observation","id":"${UUID}","status":"final","code":{"text":"Body Height"}}`)
const packer = new Packer(DICTIONARY)

/** Pseudorandom numbers less than `below`, the same in each run. */
function numbers(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 0x1_0000_0000) * below)
  }
}

/** Printable characters that contain no match. */
function noise(length: number): string {
  const next = numbers(7)
  return Array.from({ length }, () => String.fromCharCode(33 + next(90))).join('')
}

/** Packs the text, checks that it unpacks to the same text, and returns the packed bytes. */
function back(text: string): Uint8Array {
  const packed = packer.pack(bytesOf(text))
  if (packed === undefined) throw new Error('it was not packed')
  expect(textOf(unpack(packed, DICTIONARY))).toBe(text)
  return packed
}

describe('Packed bytes', () => {
  it('keep the format that format.ts describes, because stored files use it', () => {
    const another = '7c9e6679-7425-40de-944b-e07fc1f90ae7'
    const text = `{"resourceType":"Observation","id":"${another}","status":"final","code":{"text":"Body Weight"}},"Body Weight"`
    const packed = '87010f110000007c9e6679742540de944be07fc1f90ae70f154800a9576569676874227d7d2ce300'
    expect(textOf(unpack(Buffer.from(packed, 'hex'), DICTIONARY))).toBe(text)
    expect(back(text).length).toBeLessThan(50)
  })

  it.each([
    ['all of the dictionary', textOf(DICTIONARY)],
    ['its end', '"Body Height"}}'],
    ['14, 15, 16, 142 and 143 literals', [14, 15, 16, 142, 143].map((n) => `${'~'.padEnd(n, 'abcdefghijklm')}"status":"final"`).join('')],
    ['matches of 5, 18, 19 and 20 bytes', ['{"res', '{"resourceType":"O', '{"resourceType":"Ob', '{"resourceType":"Obs'].join('§')],
    ['a match that reaches into itself', `x${'ab'.repeat(500)}`],
    ['a long run of one byte', 'a'.repeat(100_000)],
    [
      'UUIDs side by side, and one at the end',
      `${'7c9e6679-7425-40de-944b-e07fc1f90ae7'.repeat(2)}"status":"final"6ba7b810-9dad-11d1-80b4-00c04fd430c8`,
    ],
    ['letters that are not ASCII', `"status":"final" ${'Größe'.repeat(9)}`],
  ])('unpack to the same text: %s', (_, text) => {
    expect(back(text).length).toBeLessThan(bytesOf(text).length)
  })

  it('restore text that resembles a UUID: in capitals, too short, with a wrong digit', () => {
    const almost = [
      UUID.toUpperCase(),
      '6ba7b810-9dad-11d1-80b4-00c04fd430c',
      '6ba7b810-9dad-11d1-80b4-00c04fd430cg',
      '6ba7b810-9dad-11d1-80b4',
    ]
    for (const each of almost) back(`"status":"final""status":"final"${each}`)
  })

  it('refer back as far as two bytes can address, and no further', () => {
    const twice = noise(300).repeat(2)
    expect(back('a'.repeat(60_000) + twice).length).toBeLessThan(400)
    expect(back('a'.repeat(66_000) + twice).length).toBeGreaterThan(600)
  })

  it('restore random mixes of dictionary, repeats, UUIDs and noise', () => {
    const next = numbers(1)
    const digits = (length: number) => Array.from({ length }, () => next(16).toString(16)).join('')
    for (let round = 0; round < 500; round++) {
      let text = ''
      for (let pieces = 1 + next(30); pieces > 0; pieces--) {
        const from = next(DICTIONARY.length)
        const own = next(text.length + 1)
        text += [
          () => textOf(DICTIONARY.subarray(from, from + next(60))),
          () => text.slice(own, own + next(200)),
          () => [8, 4, 4, 4, 12].map(digits).join('-'),
          () => String.fromCharCode(32 + next(900)).repeat(next(30)),
        ][next(4)]!()
      }
      const packed = packer.pack(bytesOf(text))
      if (packed !== undefined) expect(textOf(unpack(packed, DICTIONARY))).toBe(text)
    }
  })

  it('need no dictionary', () => {
    const text = 'once more and '.repeat(30)
    const packed = new Packer(new Uint8Array()).pack(bytesOf(text))
    expect(textOf(unpack(packed!, new Uint8Array()))).toBe(text)
  })
})

describe('Bytes that are not packed', () => {
  it.each([
    ['an empty array', new Uint8Array()],
    ['a few bytes', bytesOf('abc')],
    ['text that would hardly shrink', bytesOf(`"status":"final"${noise(300)}`)],
    [
      'noise',
      Uint8Array.from(
        { length: 100_000 },
        (
          (next) => () =>
            next(256)
        )(numbers(3)),
      ),
    ],
    ['more bytes than the maximum', new Uint8Array(MAX_UNPACKED_BYTES + 1)],
  ])('include %s', (_, bytes) => {
    expect(packer.pack(bytes)).toBeUndefined()
  })

  it('do not include an array of exactly the maximum size', () => {
    const bytes = new Uint8Array(MAX_UNPACKED_BYTES)
    expect(Buffer.compare(unpack(packer.pack(bytes)!, DICTIONARY), bytes)).toBe(0)
  })
})

describe('Damaged bytes', () => {
  const packed = back(
    `{"resourceType":"Observation","id":"${UUID.replaceAll('0', '1')}","note":"${'as before, '.repeat(20)}","status":"final"}`,
  )

  it('throw an UnpackError if they end early', () => {
    for (let end = 0; end < packed.length; end++) expect(() => unpack(packed.subarray(0, end), DICTIONARY)).toThrow(UnpackError)
  })

  it('throw an UnpackError or unpack to at most the maximum size', () => {
    let told = 0
    for (let at = 0; at < packed.length; at++)
      for (let byte = 0; byte < 256; byte++) {
        const changed = packed.slice()
        changed[at] = byte
        try {
          expect(unpack(changed, DICTIONARY).length).toBeLessThanOrEqual(MAX_UNPACKED_BYTES)
        } catch (error) {
          expect(error).toBeInstanceOf(UnpackError)
          told++
        }
      }
    expect(told).toBeGreaterThan(0)
  })

  const position = (at: number): string => Buffer.of(at & 255, at >> 8).toString('hex')

  it('do not include bytes that unpack to exactly the maximum size', () => {
    const packed = Buffer.from(`80d00f1f61eccf0f${position(DICTIONARY.length)}`, 'hex')
    expect(unpack(packed, DICTIONARY).length).toBe(MAX_UNPACKED_BYTES)
  })

  it.each([
    ['a length that is too large', `81d00f1f61edcf0f${position(DICTIONARY.length)}`],
    ['a number without end', 'ffffffffff'],
    ['literals beyond the end', '02f000'.padEnd(80, '0')],
    ['a UUID beyond the end', '0200'.padEnd(80, '0')],
    ['a match beyond the end', '02010000'],
    ['a match beyond the dictionary', `0602${position(DICTIONARY.length - 1)}`],
    ['a match of bytes that do not exist yet', `0602${position(DICTIONARY.length)}`],
  ])('throw an UnpackError: %s', (_, hex) => {
    expect(() => unpack(Buffer.from(hex, 'hex'), DICTIONARY)).toThrow(UnpackError)
  })
})
