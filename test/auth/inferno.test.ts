/** Each assertion by which Inferno's kits test how a server lets apps in: a row each, read from the kits' sources. See inferno/README.md. */
import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { countRows } from './inferno/counted.ts'
import { openSite, runAllLaunches, type Site } from './inferno/kit.ts'
import { TABLES } from './inferno/tables.ts'
import { FAULTY_SITES } from './inferno/wrong.ts'

let site: Site

beforeAll(async () => {
  site = await openSite()
  await runAllLaunches(site)
})

describe.each(Object.entries(TABLES))('%s', (_, rows) => {
  it.each(rows)('%s: %s', (_by, _holds, check) => check(site))
})

it('no row appears twice', () => {
  const names = Object.values(TABLES).flatMap((rows) => rows.map(([by, holds]) => `${by}: ${holds}`))
  expect(names.filter((name, i) => names.indexOf(name) !== i)).toEqual([])
})

it('the README states the number of rows per kit', () => {
  const page = readFileSync(new URL('inferno/README.md', import.meta.url), 'utf8')
  expect(page).toContain(countRows(Object.values(TABLES).flat()).join('\n'))
})

it('each row fails for a server that grants nothing or everything', async () => {
  const cannot: string[] = []
  for (const [by, holds, check] of Object.values(TABLES).flat()) {
    const outcomes = await Promise.allSettled(FAULTY_SITES.map(async (wrong) => check(wrong())))
    if (outcomes.every(({ status }) => status === 'fulfilled')) cannot.push(`${by}: ${holds}`)
  }
  expect(cannot).toEqual([])
})
