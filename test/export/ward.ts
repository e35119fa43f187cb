/** A store that changes continuously, and an oracle that computes the expected export from the history of the store. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { SqliteResourceStore } from '../../lambdas/adapters/sqlite-store/resource-store.ts'
import type { Job } from '../../lambdas/export/job/job.ts'
import type { ExportParts } from '../../lambdas/export/step-types.ts'
import { compartmentsOf } from '../../lambdas/fhir/compartment.ts'
import type { BlobStore } from '../../lambdas/ports/blobs/blob-store.ts'
import type { ResourceVersion, Write } from '../../lambdas/ports/store/resource-store.ts'
import { newFolder } from '../fixtures/at-end.ts'
import { observation, patient, type Tree } from '../fixtures/resources.ts'
import { deletionOf, instantAt, resourceKeyOf, writeOf } from '../fixtures/versions.ts'
import { readFileLines } from './export-run.ts'

const PATIENT_TYPES = ['Patient', 'Observation', 'Device']
export const WARD_TYPES = { system: [...PATIENT_TYPES, 'Organization'], patient: PATIENT_TYPES }

const PATIENTS = 6
const OBSERVATIONS = 40
/** Number of observations that are large enough to fill parts of files. */
const LARGE = 14
const FILLER = 'x'.repeat(1_000_000)
const DEVICES = 4
const ORGANIZATIONS = 3

export class Ward {
  readonly store: SqliteResourceStore
  /** Time in seconds. Each commit advances it. */
  now = 0
  readonly #folder: string
  readonly #random: (below: number) => number
  #last: Promise<void> = Promise.resolve()

  private constructor(store: SqliteResourceStore, folder: string, random: (below: number) => number) {
    this.store = store
    this.#folder = folder
    this.#random = random
  }

  static async open(seed: number): Promise<Ward> {
    const folder = newFolder()
    const ward = new Ward(await SqliteResourceStore.open({ file: join(folder, 'store.db') }), folder, randomOf(seed))
    for (const name of ward.#names()) await ward.#commit([name], () => false)
    return ward
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.store.close()
    rmSync(this.#folder, { recursive: true })
  }

  /** Creates, updates, deletes or restores one resource, or five at once. Observations and devices change patients. */
  change(): Promise<void> {
    this.#last = this.#last.then(() => this.#change())
    return this.#last
  }

  async #change(): Promise<void> {
    const names = this.#names()
    const members = new Set(Array.from({ length: this.#random(4) === 0 ? 5 : 1 }, () => names[this.#random(names.length)]!))
    await this.#commit([...members], () => this.#random(3) === 0)
  }

  async #commit(names: readonly string[], isDeletion: () => boolean): Promise<void> {
    const lastUpdated = instantAt(++this.now)
    const keys = names.map((name) => resourceKeyOf('t', name.split('/')[0]!, name.split('/')[1]!))
    const heads = await this.store.current(keys)
    const writes = keys.flatMap((key, i): readonly Write[] => {
      const head = heads[i]
      const expected = head?.versionId ?? 0
      if (head?.deleted === false && isDeletion()) return [deletionOf(key, { expected, lastUpdated, compartments: head.compartments })]
      const body = this.#resource(key.type, key.id)
      return [writeOf(key, { expected, lastUpdated, body, compartments: compartmentsOf(body) })]
    })
    const result = await this.store.commit(writes, [])
    if (result.kind !== 'committed') throw new Error(result.kind)
  }

  #resource(type: string, id: string): Tree {
    const somebody = `Patient/p${this.#random(PATIENTS)}`
    switch (type) {
      case 'Patient':
        return patient(id, { family: `at ${this.now}` })
      case 'Observation':
        return observation(id, {
          code: `at ${this.now}`,
          subject: this.#random(5) === 0 ? 'Group/g' : somebody,
          ...(Number(id.slice(1)) < LARGE ? { note: [{ text: FILLER }] } : {}),
        })
      case 'Device':
        return {
          resourceType: type,
          id,
          lotNumber: `at ${this.now}`,
          ...(this.#random(3) === 0 ? {} : { patient: { reference: somebody } }),
        }
      default:
        return { resourceType: type, id, name: `at ${this.now}` }
    }
  }

  #names(): readonly string[] {
    const some = (type: string, letter: string, count: number) => Array.from({ length: count }, (_, i) => `${type}/${letter}${i}`)
    return [
      ...some('Patient', 'p', PATIENTS),
      ...some('Observation', 'o', OBSERVATIONS),
      ...some('Device', 'd', DEVICES),
      ...some('Organization', 'g', ORGANIZATIONS),
    ]
  }

  /** Returns the versions that were current at an instant, deletions included, from the history of the store. */
  async asOf(instant: number): Promise<ReadonlyMap<string, ResourceVersion>> {
    const versions: ResourceVersion[] = []
    for (let more = true; more; ) {
      const page = await this.store.history({ tenant: 't' }, { before: instant + 1, currentAt: instant }, versions.at(-1), 1_000)
      versions.push(...page.versions)
      more = page.more
    }
    const current = new Map<string, ResourceVersion>()
    for (const version of versions) {
      const name = `${version.type}/${version.id}`
      if ((current.get(name)?.versionId ?? 0) < version.versionId) current.set(name, version)
    }
    return current
  }
}

const text = ({ body }: ResourceVersion): string => new TextDecoder().decode(body)

/** Returns the expected lines and deleted `Type/id`s. A patient-level export includes each Patient that an exported line refers to. */
export async function expectedOf(ward: Ward, { level, asked, transactionTime }: Job): Promise<ExportedLines> {
  const lines: Record<string, string[]> = {}
  const deleted: string[] = []
  const all = await ward.asOf(transactionTime)
  for (const [name, version] of all) {
    if (asked.since !== undefined && version.lastUpdated <= asked.since) continue
    if (level === 'patient' && !(await isOfSomebody(ward, version))) continue
    if (!version.deleted) lines[version.type] = [...(lines[version.type] ?? []), text(version)]
    else if (asked.since !== undefined) deleted.push(name)
  }
  const named = level === 'patient' ? Object.values(lines).flat().flatMap(referredIn) : []
  const patients = named.flatMap((name) => all.get(name) ?? []).filter((patient) => !patient.deleted)
  if (patients.length > 0) lines.Patient = [...(lines.Patient ?? []), ...patients.map(text)]
  for (const [type, each] of Object.entries(lines)) lines[type] = [...new Set(each)].sort()
  return { lines, deleted: deleted.sort() }
}

const referredIn = (line: string): readonly string[] => [...line.matchAll(/"reference":"(Patient\/[^"]+)"/g)].map(([, name]) => name!)

export type ExportedLines = { readonly lines: Readonly<Record<string, readonly string[]>>; readonly deleted: readonly string[] }

/** Whether a patient owns the resource. A deletion has the owners of the version before it. */
async function isOfSomebody(ward: Ward, version: ResourceVersion): Promise<boolean> {
  if (version.type === 'Patient') return true
  const [shown] = version.deleted ? await ward.store.versions([{ ...version, versionId: version.versionId - 1 }]) : [version]
  const resource = JSON.parse(text(shown!)) as Tree
  return [resource.subject, resource.patient].some((reference) => reference?.reference.startsWith('Patient/') === true)
}

/** Returns the lines and deletions in the files of a job. */
export async function readExported(blobs: Pick<BlobStore, 'get'>, job: Job): Promise<ExportedLines> {
  const { deleted = [], ...lines } = await readFileLines(blobs, job)
  const entries = deleted.flatMap((line) => JSON.parse(line).entry as readonly { readonly request: { readonly url: string } }[])
  return {
    lines: Object.fromEntries(Object.entries(lines).map(([name, each]) => [name, each.toSorted()])),
    deleted: entries.map(({ request }) => request.url).sort(),
  }
}

/** Makes the store appear larger, so that there are many segments, and limits its pages. */
export const withSmallSegments = (store: SqliteResourceStore): ExportParts['resources'] => ({
  current: (...input) => store.current(...input),
  versions: (...input) => store.versions(...input),
  heads: (...input) => store.heads(...input),
  history: (...input) => store.history(...input),
  settled: (...input) => store.settled(...input),
  scan: (request) => store.scan({ ...request, limit: 7 }),
  extent: async (request, every) => {
    const { entries, cuts } = await store.extent(request, 16)
    return { entries: Math.ceil(entries / 16) * every, cuts }
  },
})

/** Returns the same numbers for the same seed. https://en.wikipedia.org/wiki/Lehmer_random_number_generator */
export function randomOf(seed: number): (below: number) => number {
  let state = seed * 7_919 + 1
  return (below) => {
    state = (state * 48_271) % 2_147_483_647
    return state % below
  }
}
