import { readFileSync } from 'node:fs'
import { expect, it } from '@jest/globals'
import { Copy } from './copy.ts'

const FILE = 'test/mutants/choice.ts'
/** Two files, so that a failure of the first one ends the run early. */
const TESTS = ['test/mutants/choice.test', 'test/mutants/related-tests.test']
const NEVER = new AbortController().signal

it('runs tests with and without a mutant, and leaves the sources alone', async () => {
  const source = readFileSync(FILE, 'utf8')
  const broken = source.replace('% of === part', '% of !== part')
  await Copy.use(async (copy) => {
    expect(await copy.clean(TESTS, NEVER)).toBe('passed')
    expect(await copy.mutated(FILE, broken, TESTS, NEVER)).toBe('failed')
    expect(await copy.mutated(FILE, source, TESTS, AbortSignal.abort())).toBe('stopped')
    expect(await copy.clean(['test/mutants/nothing'], NEVER)).toBe('not run')
  })
  expect(readFileSync(FILE, 'utf8')).toBe(source)
})

it('ends tests that run when the whole run is over', async () => {
  const run = new AbortController()
  const outcome = await Copy.use(async (copy) => {
    expect(await copy.clean(TESTS, NEVER)).toBe('passed')
    const ended = copy.mutated(FILE, 'for (;;);', TESTS, run.signal)
    run.abort()
    return ended
  })
  expect(outcome).toBe('stopped')
})
