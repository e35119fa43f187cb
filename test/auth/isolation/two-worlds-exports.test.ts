/**
 * One client exports the same from two servers, one of which keeps much that the client may not see: what is answered, and what stands in the
 * files, is equal.
 */
import { afterEach, expect, it } from '@jest/globals'
import { caseStepOf, firstSeed } from '../../fixtures/long-runs.ts'
import type { RequestContent } from '../site.ts'
import { type ExportRun, runExport } from './exports.ts'
import type { Caller } from './oracle.ts'
import { openTwoWorlds, type World } from './worlds.ts'

let open: readonly World[] = []
afterEach(async () => {
  for (const world of open) await world.close()
  open = []
})

const CLIENTS: readonly (readonly [string, Omit<Caller, 'tenant' | 'client'>])[] = [
  ['an app of a patient', { scopes: 'patient/*.rs', patient: 'a.id' }],
  ['a system for what is tagged', { scopes: 'system/*.rs?_tag=even system/Observation.rs?_tag=odd&category=laboratory' }],
  ['a system for some types', { scopes: 'system/Observation.rs?category=laboratory system/Device.rs system/Group.rs' }],
]

const filter = (search: string) => `_typeFilter=${encodeURIComponent(search)}`
const patients = (...names: readonly string[]): RequestContent => ({
  body: { resourceType: 'Parameters', parameter: names.map((reference) => ({ name: 'patient', valueReference: { reference } })) },
})

const REQUESTS: readonly (readonly [target: string, sent?: RequestContent])[] = [
  ['/$export'],
  ['/Patient/$export'],
  ['/Group/g-own.id/$export'],
  ['/Group/g-both.id/$export'],
  ['/Group/never.id/$export'],
  ['/$export?_type=Observation,Condition,Binary'],
  ['/$export?_since=2000-01-01T00:00:00Z'],
  [`/$export?${filter('Observation?subject:Patient.family=Baker')}`],
  [`/$export?${filter('Patient?_has:Observation:subject:_tag=odd')}`],
  [`/Patient/$export?${filter('Observation?category=laboratory')}`],
  ['/Patient/$export', patients('Patient/a.id')],
  ['/Patient/$export', patients('Patient/b.id', 'Patient/never.id')],
  ['/Group/g-both.id/$export', patients('Patient/b.id')],
]

/** But for ids and proofs by chance, instants of polls, and the order of lines. */
function shown({ kickOff, poll, files }: ExportRun): string {
  const said = [kickOff, poll].map((answer) => answer && `${answer.status} ${answer.headers['content-type']} ${answer.text}`)
  const lines = files.map(([name, { status, text }]) => `${name} ${status}\n${text.split('\n').toSorted().join('\n')}`)
  return [...said, ...lines.toSorted()]
    .join('\n')
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/g, 'uuid')
    .replaceAll(/expires=\d+|signature=[\w-]+/g, '')
}

/** Each export waits a second for its instant to pass: a third for each client, all of them in the long run. */
const EVERY = caseStepOf(CLIENTS.length, 1)

it.each(CLIENTS)(
  'hidden resources change no export of %s',
  async (name, more) => {
    const who: Caller = { tenant: 'north', client: 'app', ...more }
    open = await openTwoWorlds(who, { FHIR_EXPORT_NEEDS_ASSERTION: 'off', FHIR_USER_EXPORTS: 'on' })
    const different: string[] = []
    let lines = 0
    const first = (CLIENTS.findIndex(([each]) => each === name) + firstSeed()) % EVERY
    for (const [i, [target, sent]] of REQUESTS.entries()) {
      if (i % EVERY !== first) continue
      const [mine, others] = await Promise.all(
        open.map((world) => {
          let instant = i * 1_000
          world.at(instant)
          return runExport(world.ask, who, target, sent, () => world.at(++instant))
        }),
      )
      const [a, b] = [shown(mine!), shown(others!)]
      lines += a.split('\n').length
      if (a !== b) different.push(`${target} ${JSON.stringify(sent)}\n${a}\n---\n${b}`)
    }
    expect(different).toEqual([])
    expect(lines).toBeGreaterThan(15)
  },
  5 * 60_000,
)
