/** $everything of a patient of whom there is very much: what one page reads and holds is bounded, and what pages keep between them may be gone. */
import { createHash } from 'node:crypto'
import { beforeEach, expect, it } from '@jest/globals'
import { WHOLE_ACCESS } from '../../../lambdas/access/access.ts'
import type { BundlePage } from '../../../lambdas/fhir/bundle.ts'
import type { FhirRequest } from '../../../lambdas/interactions/interaction.ts'
import { everything } from '../../../lambdas/interactions/operations/everything.ts'
import type { RecordPorts } from '../../../lambdas/interactions/operations/patient-record.ts'
import type { Blob } from '../../../lambdas/ports/blobs/blob-store.ts'
import type { Plan } from '../../../lambdas/ports/search/plan.ts'
import type { ResourceKey, ResourceVersion, VersionKey } from '../../../lambdas/ports/store/resource-store.ts'

const OBSERVATIONS = 24_000
const DOCTORS = 12_000
/** Versions that are read for one page, and a handful. */
const MOST_READ = 10_050
const BASE = 'http://x'
const DAY = 24 * 60 * 60 * 1_000

const idOf = (i: number): string => `i${String(i).padStart(6, '0')}`

function versionOf({ tenant, type, id }: ResourceKey): ResourceVersion {
  const doctor = `Practitioner/${idOf(Number(id.slice(1)) % DOCTORS)}`
  const more = type === 'Observation' ? { performer: [{ reference: doctor }] } : {}
  const body = Buffer.from(JSON.stringify({ resourceType: type, id, ...more }))
  return {
    tenant,
    type,
    id,
    versionId: 1,
    lastUpdated: 0,
    deleted: false,
    compartments: type === 'Practitioner' ? [] : ['Patient/p'],
    body,
  }
}

let now: number
let read: number
let most: number
const blobs = new Map<string, Blob>()
beforeEach(() => {
  now = DAY
  read = most = 0
  blobs.clear()
})

const counted = <T>(versions: readonly T[]): readonly T[] => {
  read += versions.length
  most = Math.max(most, versions.length)
  return versions
}

const ports = {
  index: {
    async find({ types, after, limit }: Plan) {
      if (!types.includes('Observation')) return { hits: [], more: false }
      const from = after === undefined ? 0 : Number(after.id.slice(1)) + 1
      const ids = Array.from({ length: Math.min(limit, OBSERVATIONS - from) }, (_, i) => idOf(from + i))
      const hits = ids.map((id) => ({ type: 'Observation', id, version: 1, position: { values: [], type: 'Observation', id } }))
      return { hits, more: from + ids.length < OBSERVATIONS }
    },
  },
  resources: () => ({
    // Every other doctor is gone.
    current: async (keys: readonly ResourceKey[]) =>
      counted(keys.map((key) => (key.type === 'Practitioner' && Number(key.id.slice(1)) % 2 === 1 ? undefined : versionOf(key)))),
    versions: async (keys: readonly VersionKey[]) => counted(keys.map(versionOf)),
  }),
  clock: { now: () => now },
  seal: {
    digest: (text: string) => createHash('sha256').update(text).digest('base64url'),
    seal: (text: string, at: number) => JSON.stringify([text, at]),
    open(sealed: string) {
      const [text, at] = JSON.parse(sealed)
      return { text, at }
    },
  },
  blobs: {
    put: async (key: string, blob: Blob) => void blobs.set(key, blob),
    get: async (key: string) => blobs.get(key),
  },
} as unknown as RecordPorts

async function ask(query: string): Promise<{ readonly names: readonly string[]; readonly next: string | undefined }> {
  read = 0
  const asked = { type: 'Patient', id: 'p', parameters: [...new URLSearchParams(query)], posted: false, preconditions: {}, preferences: {} }
  const who = { tenant: 't', client: 'c', access: WHOLE_ACCESS, baseUrl: BASE, reading: { baseUrl: BASE } }
  const { body } = await everything(ports)({ ...asked, ...who } as unknown as FhirRequest)
  const { entries, link } = body as BundlePage
  const next = link.find(({ relation }) => relation === 'next')?.url
  return { names: entries.map(({ fullUrl }) => fullUrl!.slice(BASE.length + 1)), next: next?.slice(next.indexOf('?') + 1) }
}

async function pages(
  query: string,
): Promise<{ readonly found: readonly string[]; readonly reads: readonly number[]; readonly links: readonly string[] }> {
  const [found, reads, links] = [[] as string[], [] as number[], [] as string[]]
  for (let next: string | undefined = query; next !== undefined; ) {
    links.push(next)
    const page = await ask(next)
    found.push(...page.names)
    reads.push(read)
    next = page.next
  }
  return { found, reads, links }
}

const doctors = Array.from({ length: DOCTORS / 2 }, (_, i) => `Practitioner/${idOf(2 * i)}`)
const observations = Array.from({ length: OBSERVATIONS }, (_, i) => `Observation/${idOf(i)}`)

it.each([
  ['', ['Patient/p', ...observations, ...doctors]],
  ['_count=700', ['Patient/p', ...observations, ...doctors]],
  ['_type=Practitioner', doctors],
  ['_type=Practitioner&_count=1000', doctors],
])('pages of %j return each resource once and read a bounded number', async (query, expected) => {
  const { found, reads, links } = await pages(query)
  expect(found).toEqual(expected)
  expect(most).toBeLessThanOrEqual(50)
  expect(Math.max(...reads)).toBeLessThanOrEqual(MOST_READ)
  for (const link of links) expect(link.length).toBeLessThan(500)
})

it('a page is 410 once its stored state is deleted or a day old', async () => {
  const { links } = await pages('_type=Practitioner')
  expect(links.length).toBeGreaterThan(3)
  blobs.clear()
  await expect(ask(links[2]!)).rejects.toMatchObject({ status: 410 })
  now += DAY + 1
  await expect(ask(links[1]!)).rejects.toMatchObject({ status: 410 })
})

it('the stored state of a page is invalid for other clients', async () => {
  const { links } = await pages('_type=Practitioner')
  for (const [key, blob] of blobs) {
    const [, , kept] = JSON.parse(Buffer.from(blob.bytes).toString())
    blobs.set(key, { ...blob, bytes: Buffer.from(JSON.stringify(['t', 'other', kept])) })
  }
  await expect(ask(links[2]!)).rejects.toMatchObject({ status: 410 })
})
