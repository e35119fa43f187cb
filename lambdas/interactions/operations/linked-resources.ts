/**
 * Collects the resources that a patient's data refers to, directly or through others, and the Provenance of the patient's data. Between two
 * pages the collection is stored: each page begins where the previous one ended, and no resource appears twice.
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

/** Maximum resources collected for one patient. If there are more, the request is answered 403. */
const MOST = 200_000
/** Keys of versions that are looked up for one page. After that many, the page ends early. */
const MOST_READ = 10_000
/** Bytes of bodies that are read for one page. After that many, the page ends early. */
const HEAVIEST_READ = 50_000_000

/**
 * Stored state of a collection. `own`: last resource of the patient whose references are collected; `all`: those of every resource are;
 * null: only those of the Patient are. `followed`: number of names whose own references are collected.
 */
type Kept = {
  readonly names: readonly string[]
  readonly own: { readonly type: string; readonly id: string } | 'all' | null
  readonly followed: number
}

const BEGUN: Kept = { names: [], own: null, followed: 0 }

export class ReadBudget {
  #left = MOST_READ
  #room = HEAVIEST_READ

  /** Deducts the versions, and returns true if the budget is used up. `count`: number of keys looked up, including missing resources. */
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

  /** Returns the stored collection. Throws FhirError 410 if it is no longer stored. */
  static async resumed(record: PatientRecord, key: string): Promise<LinkedResources> {
    const kept = await readStoredQuery<Kept>(record.ports.blobs, record.request, key)
    if (kept === undefined)
      throw fhirError(410, 'not-found', 'The state of the paging link is no longer stored: start again from the first page')
    return new LinkedResources(record, kept)
  }

  /** Stores the state of the collection and returns its key, for the cursor of the next page. */
  keep(): Promise<string> {
    const kept: Kept = { names: this.#names, own: this.#own, followed: this.#followed }
    return storeQuery(this.#record.ports, this.#record.request, kept)
  }

  /** Collected names such as `Practitioner/1`, by type and then by name, in the order of the response. */
  get names(): readonly string[] {
    const byType = Map.groupBy(this.#names.toSorted(), (name) => name.slice(0, name.indexOf('/')))
    return REFERENCED_TYPES.flatMap((type) => byType.get(type) ?? [])
  }

  /**
   * Collects the references in these resources of the patient, and the Provenance of them. Calls must follow the order of the resources. An
   * empty list says that no resource is left.
   */
  async addOwn(versions: readonly ResourceVersion[]): Promise<void> {
    const last = versions.at(-1)
    if (last === undefined) this.#own = 'all'
    else {
      this.#meet(versions)
      await this.#meetProvenanceOf(versions)
      this.#own = { type: last.type, id: last.id }
    }
  }

  /** Continues the collection until the budget is used up. Returns whether everything is collected. */
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

  /**
   * Collects the Provenance that has one of these versions as target. Skips Provenance in the compartment of the patient, which is one of
   * the resources of the patient.
   */
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
 * Returns existing resources with these names that the caller may read and find, without the resources of the patient. Stops after
 * MAX_PAGE_BYTES of bodies. `read`: number of names looked up, from the first one on.
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
