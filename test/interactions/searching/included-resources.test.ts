/** What comes along with matches is read and looked for once, however often it is asked for. Calls are counted. */
import { beforeEach, expect, it } from '@jest/globals'
import { WHOLE_ACCESS } from '../../../lambdas/access/access.ts'
import { resourceTypes } from '../../../lambdas/fhir/resource-types.ts'
import type { FhirRequest } from '../../../lambdas/interactions/interaction.ts'
import { readIncludedEntries } from '../../../lambdas/interactions/searching/included-resources.ts'
import type { SearchPorts } from '../../../lambdas/interactions/searching/page-entries.ts'
import type { Plan } from '../../../lambdas/ports/search/plan.ts'
import type { ResourceKey, ResourceVersion } from '../../../lambdas/ports/store/resource-store.ts'
import { includeOf } from '../../../lambdas/search/query/include.ts'

const request = { tenant: 'default', access: WHOLE_ACCESS, baseUrl: 'http://x', reading: { baseUrl: 'http://x' } } as unknown as FhirRequest

/** `texts`: how often its body is decoded. */
function versionOf(type: string, id: string, more: object, counts: { texts: number }): ResourceVersion {
  const bytes = new TextEncoder().encode(JSON.stringify({ resourceType: type, id, ...more }))
  const version = { tenant: 'default', type, id, versionId: 1, lastUpdated: 0, deleted: false }
  const get = (): Uint8Array => {
    counts.texts++
    return bytes
  }
  return Object.defineProperty(version, 'body', { get }) as unknown as ResourceVersion
}

let counts: { texts: number; reads: number; most: number }
let plans: Plan[]
/** Ids of resources that do not exist. */
let missing: ReadonlySet<string>
beforeEach(() => {
  counts = { texts: 0, reads: 0, most: 0 }
  plans = []
  missing = new Set()
})

const ports = {
  index: {
    find: async (plan: Plan) => {
      plans.push(plan)
      return { hits: [], more: false }
    },
  },
  resources: () => ({
    current: async (keys: readonly ResourceKey[]) => {
      counts.reads++
      counts.most = Math.max(counts.most, keys.length)
      return keys.map(({ type, id }) => (missing.has(id) ? undefined : versionOf(type, id, {}, { texts: 0 })))
    },
    versions: async () => [],
  }),
} as unknown as SearchPorts

const LIMITS = { most: 10_000, room: 4_500_000 }
const names = ({ entries }: Awaited<ReturnType<typeof readIncludedEntries>>) =>
  entries.map(({ fullUrl }) => fullUrl?.replace('http://x/', ''))
const includes = (...given: readonly (readonly [string, string])[]) => given.map(([name, value]) => includeOf(name, value, []))
const observations = (count: number) =>
  Array.from({ length: count }, (_, i) =>
    versionOf(
      'Observation',
      `o${i}`,
      { subject: { reference: `Patient/p${i}` }, performer: [{ reference: `Practitioner/d${i}` }] },
      counts,
    ),
  )

it('a resource is read once for all includes, and its references in a few readings', async () => {
  const asked = includes(['_include', '*'], ['_include', '*'], ['_include', 'Observation:subject'], ['_include', 'Observation:*'])
  expect(names(await readIncludedEntries(ports, request, asked, observations(150), LIMITS))).toHaveLength(300)
  expect(counts).toEqual({ texts: 150, reads: 2, most: 200 })
})

const MANY_MISSING = ['p0', 'p2', ...Array.from({ length: 295 }, (_, i) => `p${5 + i}`)]

it.each([
  ['four of five', ['p0', 'p1', 'p2', 'p3'], 5, ['Patient/p4'], false],
  ['two of five', ['p0', 'p2'], 5, ['Patient/p1', 'Patient/p3', 'Patient/p4'], false],
  ['three of 200', ['p0', 'p2', 'p5'], 200, ['Patient/p1', 'Patient/p3', 'Patient/p4'], true],
  ['297 of 300', MANY_MISSING, 300, ['Patient/p1', 'Patient/p3', 'Patient/p4'], false],
] as const)('missing resources take no place of others: %s', async (_, gone, count, shown, isCut) => {
  missing = new Set(gone)
  const found = await readIncludedEntries(ports, request, includes(['_include', 'Observation:subject']), observations(count), {
    ...LIMITS,
    most: 3,
  })
  expect([names(found), found.isCut]).toEqual([shown, isCut])
  expect(counts.reads).toBeLessThanOrEqual(3)
})

it('each of several includes has its own types', async () => {
  const asked = includes(['_include', 'Observation:subject:Patient'], ['_include', 'Observation:performer:Organization'])
  expect(names(await readIncludedEntries(ports, request, asked, observations(1), LIMITS))).toEqual(['Patient/p0'])
  const all = includes(['_include', 'Observation:subject'], ['_include', 'Observation:subject:Group'])
  expect(names(await readIncludedEntries(ports, request, all, observations(1), LIMITS))).toEqual(['Patient/p0'])
})

it('referring resources are searched once per type, for all includes together', async () => {
  const patients = [versionOf('Patient', 'p', {}, counts)]
  await readIncludedEntries(ports, request, includes(...Array<readonly [string, string]>(50).fill(['_revinclude', '*'])), patients, LIMITS)
  expect(new Set(plans.map(({ types }) => types[0])).size).toBe(plans.length)
  expect(plans.length).toBeLessThanOrEqual(resourceTypes.length)
  plans = []
  await readIncludedEntries(ports, request, includes(['_revinclude', 'Observation:performer:Practitioner']), patients, LIMITS)
  expect(plans).toEqual([])
  const some = includes(
    ['_revinclude', 'Observation:subject'],
    ['_revinclude', 'Observation:performer:Practitioner'],
    ['_revinclude', 'Observation:performer'],
    ['_revinclude', 'Condition:patient'],
  )
  await readIncludedEntries(ports, request, some, patients, LIMITS)
  expect(plans.map(({ types, where }) => [types[0], JSON.stringify(where).match(/"oneOf":\["Patient\/p"\]/g)?.length])).toEqual([
    ['Observation', 2],
    ['Condition', 1],
  ])
})
