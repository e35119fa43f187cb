/** Passes that several calls of a function continue. */
import { beforeEach, describe, expect, it } from '@jest/globals'
import { type CheckedPage, continuePass, PASS_ROWS, type Pass } from '../../../lambdas/ports/rows/pass.ts'
import { MemoryRows } from '../../fixtures/memory/kept-rows.ts'

const [INTERVAL, BUDGET] = [10_000, 100]
const KEYS = ['a', 'b', 'c', 'd', 'e', 'f']

let rows: MemoryRows
let at = 0
let checked: string[]
let failing: (key: string) => boolean
beforeEach(() => {
  ;[rows, at, checked, failing] = [new MemoryRows(), 0, [], () => false]
})

/** Checks one key in forty milliseconds. */
async function checkPage(after: string): Promise<CheckedPage> {
  const key = KEYS.find((each) => each > after)
  at += 40
  if (key === undefined) return { failures: [] }
  checked.push(key)
  return { ...(key === KEYS.at(-1) ? {} : { last: key }), failures: failing(key) ? [new Error(`unreadable ${key}`)] : [] }
}
const call = (check = checkPage) => continuePass({ rows, name: 'x', checkPage: check, interval: INTERVAL, budget: BUDGET, now: () => at })
const stored = () => rows.read<Pass>(PASS_ROWS, 'x')

describe('A pass', () => {
  it('checks pages within the budget of a call, and continues behind the last one with the next call', async () => {
    await call()
    expect([checked, await stored()]).toEqual([['a', 'b', 'c'], { began: 0, after: 'c' }])
    at = 1_000
    await call()
    expect([checked, await stored()]).toEqual([KEYS, { began: 0 }])
  })

  it('begins again when its interval has passed since its start', async () => {
    for (const time of [0, 1_000, 2_000, INTERVAL - 1]) {
      at = time
      await call()
    }
    expect(checked).toEqual(KEYS)
    at = INTERVAL
    await call()
    expect([checked.slice(KEYS.length), await stored()]).toEqual([['a', 'b', 'c'], { began: INTERVAL, after: 'c' }])
  })

  it('continues at the page at which a call died', async () => {
    const dies = async (after: string) => {
      if (after === 'b') throw new Error('died')
      return checkPage(after)
    }
    await expect(call(dies)).rejects.toThrow('died')
    expect(await stored()).toEqual({ began: 0, after: 'b' })
    at = 1_000
    await call()
    expect(checked).toEqual(['a', 'b', 'c', 'd', 'e'])
  })

  it('checks a page again that has failures', async () => {
    failing = (key) => key === 'b' && checked.filter((each) => each === 'b').length < 2
    await call()
    expect([checked, await stored()]).toEqual([['a', 'b', 'b'], { began: 0, after: 'b' }])
  })

  it('continues behind a page that fails again and again, and reports it', async () => {
    failing = (key) => key === 'a'
    await expect(call()).rejects.toMatchObject({ errors: [expect.objectContaining({ message: 'unreadable a' })] })
    expect([checked, await stored()]).toEqual([['a', 'a', 'a'], { began: 0, after: 'a' }])
    await call()
    expect(checked.slice(3)).toEqual(['b', 'c', 'd'])
  })

  it('ends with its last page, even if that has failures that remain', async () => {
    failing = (key) => key === 'f'
    for (const time of [0, 1_000]) {
      at = time
      await call()
    }
    at = 2_000
    await expect(call()).rejects.toThrow('some entries of the pass x could not be checked')
    expect([checked.slice(-3), await stored()]).toEqual([['f', 'f', 'f'], { began: 0 }])
  })
})
