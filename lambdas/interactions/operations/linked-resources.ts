/**
 * Looks for what a patient's data refers to, and what that refers to in turn; and for provenance of the patient's data, which refers to it. What
 * it found so far is kept between two pages: each begins where the one before ended, and none comes twice.
 */
import { fhirError } from '../../fhir/outcome.ts'
import { scanReferences, toLocalReference } from '../../fhir/references.ts'
import { and, type HitPosition, not } from '../../ports/search/plan.ts'
import type { ResourceKey, ResourceVersion } from '../../ports/store/resource-store.ts'
import { nameOf } from '../resources/request-key.ts'
import { weightOf } from '../searching/bounded-reads.ts'
import { MAX_PAGE_BYTES } from '../searching/page-limits.ts'
import { readStoredQuery, storeQuery } from '../searching/stored-query.ts'
import { yieldIfDue } from '../time-slices.ts'
import { type PatientRecord, REFERENCED_TYPES, readRecordVersions, VERSIONS_PER_READ } from './patient-record.ts'

/** Names that are gathered, of one patient. */
const MOST = 200_000
/** Versions that are read for one page, and bytes of them. */
const MOST_READ = 10_000
const HEAVIEST_READ = 50_000_000

/** `own`: the last one whose references are known; `all`: they all are. `followed`: of so many names what they refer to is known. */
type Kept = {
  readonly names: readonly string[]
  readonly own: { readonly type: string; readonly id: string } | 'all' | null
  readonly followed: number
}

const BEGUN: Kept = { names: [], own: null, followed: 0 }

export class ReadBudget {
  #left = MOST_READ
  #room = HEAVIEST_READ

  /** Whether it is used up. `count`: of the keys that were looked up for these versions. */
  spend(versions: readonly ResourceVersion[], count = versions.length): boolean {
    this.#left -= count
    this.#room -= weightOf(versions)
    return this.#left <= 0 || this.#room <= 0
  }
}

export class LinkedResources {
  readonly #record: PatientRecord
  readonly #names: string[]
  readonly #known: Set<string>
  #own: Kept['own']
  #followed: number

  constructor(record: PatientRecord, { names, own, followed }: Kept = BEGUN) {
    this.#record = record
    this.#names = [...names]
    this.#known = new Set(names)
    this.#own = own
    this.#followed = followed
    if (own === null) this.#meet([record.patient])
  }

  /** FhirError 410: it is no longer kept. */
  static async resumed(record: PatientRecord, key: string): Promise<LinkedResources> {
    const kept = await readStoredQuery<Kept>(record.ports.blobs, record.request, key)
    if (kept === undefined)
      throw fhirError(410, 'not-found', 'What the paging link goes on with is no longer kept: start again from the first page')
    return new LinkedResources(record, kept)
  }

  /** The key under which it is kept. */
  keep(): Promise<string> {
    const kept: Kept = { names: this.#names, own: this.#own, followed: this.#followed }
    return storeQuery(this.#record.ports.blobs, this.#record.ports.clock, this.#record.request, kept)
  }

  /** In the order they are shown. */
  get names(): readonly string[] {
    const byType = Map.groupBy(this.#names.toSorted(), (name) => name.slice(0, name.indexOf('/')))
    return REFERENCED_TYPES.flatMap((type) => byType.get(type) ?? [])
  }

  /** What belongs to the patient, in its order; without any: that was all of it. */
  async addOwn(versions: readonly ResourceVersion[]): Promise<void> {
    const last = versions.at(-1)
    if (last === undefined) this.#own = 'all'
    else {
      this.#meet(versions)
      await this.#meetProvenanceOf(versions)
      this.#own = { type: last.type, id: last.id }
    }
  }

  /** Goes on as long as there is work to be had. False: there is more to do. */
  async goOn(work: ReadBudget): Promise<boolean> {
    if (this.#own !== 'all') {
      const { own, sources } = this.#record
      const matching = sources === 'own' ? own : sources
      for await (const versions of readRecordVersions(this.#record, matching, this.#own ?? undefined, Number.POSITIVE_INFINITY)) {
        await this.addOwn(versions)
        if (work.spend(versions)) return false
      }
      this.#own = 'all'
    }
    while (this.#followed < this.#names.length) {
      await yieldIfDue()
      const { versions, read } = await readLinkedVersions(
        this.#record,
        this.#names.slice(this.#followed, this.#followed + VERSIONS_PER_READ),
      )
      this.#meet(versions)
      this.#followed += read
      if (work.spend(versions, read)) return false
    }
    return true
  }

  #meet(versions: readonly ResourceVersion[]): void {
    const { referred, request } = this.#record
    for (const { body } of versions)
      for (const text of scanReferences(Buffer.from(body.buffer, body.byteOffset, body.length).toString('latin1'))) {
        const name = toLocalReference(text, request.reading)
        if (name !== undefined && referred.has(name.slice(0, name.indexOf('/')))) this.#add(name)
      }
  }

  /** That of the compartment belongs to the patient itself. */
  async #meetProvenanceOf(targets: readonly ResourceVersion[]): Promise<void> {
    const { ports, request, patient, referred } = this.#record
    const rule = referred.get('Provenance')
    if (rule === undefined) return
    const where = and({ kind: 'key', field: 'target', oneOf: targets.map(nameOf) }, not({ kind: 'compartment', oneOf: [nameOf(patient)] }))
    const plan = { tenant: request.tenant, types: ['Provenance'], where, access: { Provenance: rule }, order: [], limit: 1_000 }
    for (let after: HitPosition | undefined, isMore = true; isMore; ) {
      const { hits, more } = await ports.index.find({ ...plan, total: 'none', ...(after === undefined ? {} : { after }) })
      for (const hit of hits) this.#add(nameOf(hit))
      after = hits.at(-1)?.position
      isMore = more
    }
  }

  #add(name: string): void {
    if (this.#known.has(name)) return
    this.#known.add(name)
    this.#names.push(name)
    if (this.#names.length > MOST)
      throw fhirError(403, 'too-costly', `The patient's data refers to more than ${MOST} resources: ask for fewer types, or for an $export`)
  }
}

/**
 * Returns the first named resources that exist and that the caller may read and find, no heavier than a page. Leaves out resources of the
 * patient. `read`: how many names were looked up.
 */
export async function readLinkedVersions(
  { ports, request, patient }: PatientRecord,
  names: readonly string[],
): Promise<{ readonly versions: readonly ResourceVersion[]; readonly read: number }> {
  const keys = names.map((name): ResourceKey => {
    const [type = '', id = ''] = name.split('/')
    return { tenant: request.tenant, type, id }
  })
  const heads = await ports.resources(request, 'r', 's').current(keys, MAX_PAGE_BYTES)
  const versions = heads.filter(
    (head): head is ResourceVersion => head !== undefined && !head.deleted && !head.compartments.includes(nameOf(patient)),
  )
  return { versions, read: heads.length }
}
