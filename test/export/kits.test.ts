/** Each assertion by which BDT and Inferno's Bulk Data kit test export servers, one per row. See kits/README.md. */
import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { BDT } from './kits/bdt.ts'
import { FAULTY_SITES } from './kits/faulty-sites.ts'
import { INFERNO } from './kits/inferno.ts'
import { type KitRow, openSite, type Site } from './kits/site.ts'

const KITS: Readonly<Record<string, readonly KitRow[]>> = { bdt: BDT, inferno: INFERNO }
const ROWS = Object.values(KITS).flat()

let site: Site

beforeAll(async () => {
  site = await openSite()
})

describe.each(Object.entries(KITS))('%s', (_, rows) => {
  it.each(rows)('%s: %s', (_by, _holds, check) => check(site))
})

it('each row is unique', () => {
  const names = ROWS.map(([by, holds]) => `${by}: ${holds}`)
  expect(names.filter((name, i) => names.indexOf(name) !== i)).toEqual([])
})

it('the page states the number of rows of each kit', () => {
  const page = readFileSync(new URL('kits/README.md', import.meta.url), 'utf8')
  for (const [kit, rows] of Object.entries(KITS)) {
    const tests = new Set(rows.map(([by]) => by.replace(/^\w+\/(?:\w+: )?/, '')))
    expect(page).toContain(`| ${kit} | ${tests.size} | ${rows.length} |`)
  }
})

it('each row fails for a server that refuses everything or accepts everything', async () => {
  const cannot: string[] = []
  for (const [by, holds, check] of ROWS) {
    const outcomes = await Promise.allSettled(FAULTY_SITES.map((wrong) => check(wrong())))
    if (outcomes.every(({ status }) => status === 'fulfilled')) cannot.push(`${by}: ${holds}`)
  }
  expect(cannot).toEqual([])
})
