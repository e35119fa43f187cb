/**
 * One client asks two servers the same, one of which keeps much that the client may not see: status, headers and bytes are equal, and so is what
 * the stores are asked. A write to the id of what is hidden is refused: that is another test.
 */
import { afterEach, expect, it } from '@jest/globals'
import { caseCountOf, firstSeed } from '../../fixtures/long-runs.ts'
import type { TestResponse } from '../site.ts'
import type { Caller } from './oracle.ts'
import { nextPageOf, requestsOf } from './world-requests.ts'
import { openTwoWorlds, type World } from './worlds.ts'

const EACH = caseCountOf(60, 600)

let open: readonly World[] = []
afterEach(async () => {
  for (const world of open) await world.close()
  open = []
})

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/g
/** But for how much is written, which a token for reading one's writes tells, sealed, and ids by chance. */
function shown({ status, headers: { 'x-index-token': _, 'x-request-id': __, ...headers }, text }: TestResponse): string {
  return `${status} ${JSON.stringify(headers)} ${text}`.replace(UUID, 'uuid')
}

/** Entries of a batch take turns. */
const callsOf = (world: World): string => world.calls.splice(0).sort().join('\n').replace(UUID, 'uuid')

/** What a Binary says it belongs to is looked up, where there is one: the one thing that is read besides. */
const isOfBinary = (asked: string): boolean => asked.includes('Binary/')

const CLIENTS: readonly (readonly [string, Omit<Caller, 'tenant' | 'client'>, Readonly<Record<string, string>>])[] = [
  ['an app of a patient', { scopes: 'patient/*.cruds', patient: 'a.id' }, {}],
  [
    'an app of a patient user',
    { scopes: 'user/*.cruds launch/patient', isUser: true, patient: 'a.id', fhirUser: 'Patient/a.id' },
    { FHIR_NO_OP_UPDATES: 'ignore' },
  ],
  [
    'an app for some observations',
    { scopes: 'patient/Observation.cruds?category=laboratory patient/Patient.rs patient/Encounter.s', patient: 'a.id' },
    {},
  ],
  ['a system with conditions on tags', { scopes: 'system/*.cruds?_tag=even system/Observation.cruds?_tag=odd&category=laboratory' }, {}],
  ['a system without patients', { scopes: 'system/Observation.cruds?category=laboratory system/Device.rs system/Binary.r' }, {}],
  ['an app under referential integrity', { scopes: 'patient/*.cruds', patient: 'a.id' }, { FHIR_REFERENTIAL_INTEGRITY: 'on' }],
]

it.each(CLIENTS)(
  'hidden resources change no response for %s',
  async (_, more, settings) => {
    const who: Caller = { tenant: 'north', client: 'app', ...more }
    open = await openTwoWorlds(who, settings)
    const [whole, other] = open as [World, World]
    const { next, hidden } = requestsOf(who, EACH + JSON.stringify(more).length + firstSeed())
    expect(hidden.size).toBeGreaterThan(5)
    const different: string[] = []
    const calls: string[] = []
    /** First digits of the statuses. */
    const classes = new Set<number>()
    for (let i = 0; i < EACH && different.length < 5; i++) {
      const [method, target, sent] = next()
      let [mine, others] = [`/${target}`, `/${target}`]
      for (let page = 0; page < 4; page++) {
        whole.at(i)
        other.at(i)
        const a = await whole.ask(who, page === 0 ? method : 'GET', mine, page === 0 ? sent : {})
        const b = await other.ask(who, page === 0 ? method : 'GET', others, page === 0 ? sent : {})
        classes.add(Math.floor(a.status / 100))
        const asked = `${method} ${mine} ${sent?.body instanceof Uint8Array ? sent.body : JSON.stringify(sent)}`
        if (shown(a) !== shown(b)) different.push(`${asked}\n${shown(a)}\n${shown(b)}`)
        const [callsOfA, callsOfB] = [callsOf(whole), callsOf(other)]
        if (callsOfA !== callsOfB && !isOfBinary(asked)) calls.push(`${asked}\n${callsOfA}\n---\n${callsOfB}`)
        const [after, afterOthers] = [nextPageOf(a), nextPageOf(b)]
        if (method !== 'GET' || after === undefined || afterOthers === undefined) break
        ;[mine, others] = [after, afterOthers]
      }
    }
    expect(different).toEqual([])
    expect(calls.slice(0, 5)).toEqual([])
    expect([...classes]).toEqual(expect.arrayContaining([2, 4]))
  },
  120_000,
)
