/** The parts of a run of the cloud tests: each runs even if an earlier one failed, and the deployment is closed at the end. */
import { beforeEach, expect, it } from '@jest/globals'
import { runParts, type TestParts } from './test-parts.ts'

type World = { readonly done: string[] }

let reports: string[]
let failures: unknown[]
let world: World
let isOpen: boolean
let stopping: AbortController

beforeEach(() => {
  reports = []
  failures = []
  world = { done: [] }
  isOpen = false
  stopping = new AbortController()
})

const part = (name: string, result: () => Promise<boolean>, folder = name) => ({
  takes: (path: string) => path.startsWith(`${folder}/`),
  async run({ done }: World, files: readonly string[] | undefined) {
    expect(isOpen).toBe(true)
    done.push([name, ...(files ?? [])].join(' '))
    return result()
  },
})
const passes = async () => true
const fails = async () => false
const breaks = () => Promise.reject(new Error('broken'))

const run = (words: readonly string[], parts: TestParts<World>['parts'], open: () => Promise<void> = async () => undefined) =>
  runParts(words, {
    parts,
    usual: Object.keys(parts).filter((name) => name !== 'extra'),
    async open() {
      isOpen = true
      await open()
      return {
        ...world,
        async close() {
          isOpen = false
        },
      }
    },
    answered: ({ done }) => done.length * 10,
    report: (line) => reports.push(line.trim().replace(/\d+ s$/, 'N s')),
    fail: (error) => failures.push(error),
    stopped: stopping.signal,
  })

it.each([
  ['fails', fails, 0],
  ['breaks', breaks, 1],
])('parts run even if an earlier one %s, and the run fails', async (_, first, report) => {
  expect(await run([], { a: part('a', first), b: part('b', passes), c: part('c', fails), d: part('d', passes) })).toBe(1)
  expect(world.done).toEqual(['a', 'b', 'c', 'd'])
  expect(reports).toEqual([
    '=== a: failed, 10 requests, N s',
    '=== b: passed, 10 requests, N s',
    '=== c: failed, 10 requests, N s',
    '=== d: passed, 10 requests, N s',
  ])
  expect(failures.map((error) => (error as Error).message)).toEqual(Array.from({ length: report }, () => 'broken'))
  expect(isOpen).toBe(false)
})

it('the run passes if every part passes', async () => {
  expect(await run([], { a: part('a', passes), b: part('b', passes), extra: part('extra', fails) })).toBe(0)
  expect(world.done).toEqual(['a', 'b'])
  expect(isOpen).toBe(false)
})

it('the named parts run, or those that can run the named files', async () => {
  const parts = { a: part('a', passes), b: part('b', passes, 'a'), c: part('c', passes) }
  expect(await run(['c', 'b'], parts)).toBe(0)
  expect(await run(['a/1', 'c/2', 'a/3'], parts)).toBe(0)
  expect(await run(['b', 'a/1'], parts)).toBe(0)
  expect(world.done).toEqual(['c', 'b', 'a a/1 a/3', 'b a/1 a/3', 'c c/2', 'b a/1'])
})

it('unknown parts, and files that no part takes, are reported before anything is opened', async () => {
  const parts = { a: part('a', passes), c: part('c', passes) }
  const opened = () => Promise.reject(new Error('opened'))
  expect(await run(['b', 'a'], parts, opened)).toBe(2)
  expect(await run(['a', 'c/1', 'd/2'], parts, opened)).toBe(2)
  expect(reports).toEqual(['Unknown: b; parts: a, c', 'Tested by none of a: c/1, d/2'])
  expect([world.done, failures]).toEqual([[], []])
})

it('no part starts if the deployment cannot be opened', async () => {
  expect(await run([], { a: part('a', passes) }, breaks)).toBe(1)
  expect([world.done, failures]).toEqual([[], [new Error('broken')]])
})

it('no further part starts after a stop, and the deployment is closed', async () => {
  const stop = async () => {
    stopping.abort(new Error('ended'))
    return false
  }
  expect(await run([], { a: part('a', stop), b: part('b', passes) })).toBe(1)
  expect([world.done, failures, isOpen]).toEqual([['a'], [new Error('ended')], false])
})
