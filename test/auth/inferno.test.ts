/** Each assertion by which Inferno's kits test how a server lets apps in: a row each, read from the kits' sources. See inferno/README.md. */
import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { ACCESS } from './inferno/access.ts'
import { ATTESTED } from './inferno/attested.ts'
import { BACKEND } from './inferno/backend.ts'
import { counted } from './inferno/counted.ts'
import { DISCOVERY } from './inferno/discovery.ts'
import { GRANULAR } from './inferno/granular.ts'
import { INTROSPECTION } from './inferno/introspection.ts'
import { launchAll, openSite, type Row, type Site } from './inferno/kit.ts'
import { LAUNCHES } from './inferno/launches.ts'
import { OPENID } from './inferno/openid.ts'
import { REFUSALS } from './inferno/refusals.ts'
import { SELECTION } from './inferno/selection.ts'

const TABLES: Readonly<Record<string, readonly Row[]>> = {
  'what a client finds the server by': DISCOVERY,
  'a launch': LAUNCHES,
  'who logged in': OPENID,
  introspection: INTROSPECTION,
  'a backend service': BACKEND,
  'what comes to nothing': REFUSALS,
  'what a token opens': ACCESS,
  'scopes of some categories': GRANULAR,
  'what a user leaves of a whole type': SELECTION,
  'what a person attests': ATTESTED,
}

let site: Site

beforeAll(async () => {
  site = await openSite()
  await launchAll(site)
})

describe.each(Object.entries(TABLES))('%s', (_, rows) => {
  it.each(rows)('%s: %s', (_by, _holds, check) => check(site))
})

it('no row stands twice', () => {
  const names = Object.values(TABLES).flatMap((rows) => rows.map(([by, holds]) => `${by}: ${holds}`))
  expect(names.filter((name, i) => names.indexOf(name) !== i)).toEqual([])
})

it('the page says how many rows there are of each kit', () => {
  const page = readFileSync(new URL('inferno/README.md', import.meta.url), 'utf8')
  expect(page).toContain(counted(Object.values(TABLES).flat()).join('\n'))
})
