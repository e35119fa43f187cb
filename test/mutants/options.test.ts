import { describe, expect, it } from '@jest/globals'
import { optionsOf } from './options.ts'

const parsed = (line: string) => optionsOf(line.split(' ').filter((word) => word !== ''))
const limits = { isStrict: false, most: 60, minutes: 5 }

describe('optionsOf', () => {
  it.each([
    ['', { mode: 'diff', base: undefined, ...limits }],
    ['--diff HEAD~1 --strict', { mode: 'diff', base: 'HEAD~1', ...limits, isStrict: true }],
    ['--sample 2/10 --most 300 --minutes 30', { mode: 'sample', part: { part: 2, of: 10 }, isStrict: false, most: 300, minutes: 30 }],
    ['--kept', { mode: 'kept', part: undefined, words: [], ...limits, minutes: undefined }],
    ['--kept --part 1/40 auth token', { mode: 'kept', part: { part: 1, of: 40 }, words: ['auth', 'token'], ...limits, minutes: undefined }],
  ])('reads "%s"', (line, expected) => expect(parsed(line)).toEqual(expected))

  it.each([
    ['--diff HEAD other', 'other: no such argument'],
    ['--sample 1/10 auth', 'auth: no such argument'],
    ['--kept --sample 1/10', '--diff, --kept and --sample exclude each other'],
    ['--part 1/10', '--part needs --kept'],
    ['--kept --part 0/10', '0/10: K/N expected, with K from 1 to N'],
    ['--sample 11/10', '11/10: K/N expected, with K from 1 to N'],
    ['--most many', '--most many: a number expected'],
    ['--minutes=-1', '--minutes -1: a number expected'],
    ['--whole', "Unknown option '--whole'"],
  ])('rejects "%s"', (line, message) => expect(() => parsed(line)).toThrow(message))
})
