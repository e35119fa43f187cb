/** A store with concurrent writes during an export, and the expected content of the files, computed by loops over all writes. */
import { DEFAULT_ADDITIONAL_RESOURCES } from '../../lambdas/export/additional-resources.ts'
import type { Job } from '../../lambdas/export/job/job.ts'
import type { ExportParts } from '../../lambdas/export/step-types.ts'
import type { ExportWorld } from '../fixtures/exporting.ts'
import { MemoryRows } from '../fixtures/memory/kept-rows.ts'
import { failOnReport } from '../fixtures/never-reports.ts'
import { observation, patient, referenceTo, type Tree } from '../fixtures/resources.ts'
import { instantAt } from '../fixtures/versions.ts'
import { exportPartsOf } from './export-run.ts'

type Written = { readonly when: number; readonly tree?: Tree }

const GROUP_TYPES = ['Patient', 'Observation', 'Encounter', 'Device', 'Provenance']

/** Seconds between two readings of the clock. */
const TICK = 0.001

export class RacingWorld {
  readonly world: ExportWorld
  readonly log = new Map<string, Written[]>()
  readonly #random: () => number
  #clock = 0
  #number = 0

  constructor(world: ExportWorld, seed: number) {
    this.world = world
    this.#random = randomOf(seed)
  }

  /** Returns the time in seconds. Each call advances the clock. */
  now(): number {
    this.#clock = Math.round((this.#clock + TICK) * 1_000) / 1_000
    return this.#clock
  }

  /** Writes patients, the resources they refer to, and other resources about them. */
  async fill(patients: number, others: number): Promise<void> {
    const names = Array.from({ length: patients }, (_, i) => `${i}`)
    await this.#save(...names.map((id) => this.#patient(id)))
    await this.#save(this.group('g', [0, 1, 2]), ...['0', '1', '2'].flatMap((id) => this.#around(id)))
    for (let i = 0; i < others; i++) await this.write(patients)
  }

  group(id: string, members: readonly number[]): Tree {
    return {
      resourceType: 'Group',
      id,
      type: 'person',
      actual: true,
      member: members.map((each) => ({ entity: referenceTo(`Patient/${each}`) })),
    }
  }

  /** Writes or deletes a random resource. */
  async write(patients: number): Promise<void> {
    const id = `${this.#below(30)}`
    const kind = this.#below(9)
    if (kind === 8) return this.#save(this.#provenance(id))
    if (kind === 0) return this.#remove(`Observation/${id}`)
    if (kind === 1) return this.#save(this.#patient(`${this.#below(patients)}`))
    if (kind === 2) return this.#save(this.#device(id, patients))
    if (kind === 3) return this.#save(...this.#around(`${this.#below(3)}`))
    if (kind === 4) return this.#save(this.#encounter(id, patients), this.#observation(`${this.#below(30)}`, patients))
    if (kind === 5 && this.#below(4) === 0) return this.#remove(`Patient/${this.#below(patients)}`)
    if (kind === 6 && this.#below(6) === 0) return this.#save(this.group('g', [0, 1, this.#below(patients)]))
    return this.#save(this.#observation(id, patients))
  }

  /** Returns export parts that write before and after each call to the store and the index. */
  parts(patients: number, more: Partial<ExportParts> = {}): ExportParts {
    const { world } = this
    let last: Promise<void> = Promise.resolve()
    const race = (): Promise<void> => {
      last = last.then(async () => {
        for (let times = this.#below(2); times > 0; times--) await this.write(patients)
      })
      return last
    }
    const raced =
      <Args extends readonly unknown[], Answer>(call: (...args: Args) => Promise<Answer>) =>
      async (...args: Args): Promise<Answer> => {
        await race()
        const answer = await call(...args)
        await race()
        return answer
      }
    const { store, index } = world
    return exportPartsOf(
      {
        rows: new MemoryRows(),
        blobs: world.blobs,
        index: { find: raced((plan) => index.find(plan)), distinct: raced((...args) => index.distinct(...args)) },
        resources: {
          current: raced((keys) => store.current(keys)),
          heads: raced((keys) => store.heads(keys)),
          versions: raced((keys) => store.versions(keys)),
          history: raced((...asked) => store.history(...asked)),
          extent: raced((request, every) => store.extent(request, every)),
          settled: raced((...asked) => store.settled(...asked)),
          async *scan(request) {
            await race()
            for await (const page of store.scan(request)) {
              await race()
              yield page
            }
          },
        },
      },
      {
        now: () => instantAt(this.now()),
        elapsed: () => instantAt(this.now()),
        budget: 20,
        groupTypes: GROUP_TYPES,
        additionalResources: DEFAULT_ADDITIONAL_RESOURCES,
        report: failOnReport,
        ...more,
      },
    )
  }

  #around(id: string): readonly Tree[] {
    const partOf = { partOf: referenceTo(`Organization/${(Number(id) + 1) % 3}`) }
    return [
      { resourceType: 'Organization', id, ...partOf, alias: [this.#mark()] },
      { resourceType: 'Practitioner', id, name: [{ family: this.#mark() }] },
    ]
  }

  readonly #patient = (id: string): Tree =>
    patient(id, {
      family: this.#mark(),
      ...(this.#below(3) === 0 ? { managingOrganization: referenceTo(`Organization/${this.#below(3)}`) } : {}),
    })

  readonly #observation = (id: string, patients: number): Tree => {
    const performer = [referenceTo(this.#below(5) === 0 ? `Patient/${this.#below(patients)}` : `Practitioner/${this.#below(4)}`)]
    const focus = this.#below(5) === 0 ? { focus: [referenceTo(`Patient/${this.#below(patients)}`)] } : {}
    const status = this.#below(2) === 0 ? 'final' : 'amended'
    return observation(id, { subject: `Patient/${this.#below(patients)}`, code: { text: this.#mark() }, performer, status, ...focus })
  }

  readonly #encounter = (id: string, patients: number): Tree => ({
    ...{
      resourceType: 'Encounter',
      id,
      status: 'finished',
      class: { code: this.#mark() },
      subject: referenceTo(`Patient/${this.#below(patients)}`),
    },
    serviceProvider: referenceTo(`Organization/${this.#below(3)}`),
  })

  readonly #provenance = (id: string): Tree => ({
    ...{ resourceType: 'Provenance', id, recorded: this.#mark(), agent: [{ who: referenceTo(`Practitioner/${this.#below(4)}`) }] },
    target: [referenceTo(`${['Observation', 'Encounter', 'Device', 'Specimen'][this.#below(4)]}/${this.#below(30)}`)],
  })

  readonly #device = (id: string, patients: number): Tree => ({
    ...{ resourceType: 'Device', id, lotNumber: this.#mark(), patient: referenceTo(`Patient/${this.#below(patients)}`) },
  })

  /** Returns a value that makes each version unique. */
  #mark(): string {
    return `${++this.#number}`
  }

  async #save(...trees: readonly Tree[]): Promise<void> {
    const when = this.now()
    await this.world.save(when, ...trees)
    for (const tree of trees) this.#note(`${tree.resourceType}/${tree.id}`, { when, tree })
  }

  async #remove(name: string): Promise<void> {
    const head = this.log.get(name)?.at(-1)
    if (head?.tree === undefined) return
    const when = this.now()
    await this.world.remove(when, name)
    this.#note(name, { when })
  }

  #note(name: string, written: Written): void {
    this.log.set(name, [...(this.log.get(name) ?? []), written])
  }

  #below(count: number): number {
    return Math.floor(this.#random() * count)
  }
}

/** Makes the export look data up or scan for it, regardless of the cost. */
export const withLookupChoice = (parts: ExportParts, isLookedUp: boolean): ExportParts => ({
  ...parts,
  resources: {
    ...parts.resources,
    extent: async (request, every) => ({
      ...(await parts.resources.extent(request, every)),
      ...(request.type === 'Patient' ? { entries: isLookedUp ? 1_000_000 : 0 } : {}),
    }),
  },
})

/** Returns all lines of the files of a job, and for deletions the `Type/id` of each deleted resource. */
export function readAllLines({ deleted = [], error: _, ...files }: Readonly<Record<string, readonly string[]>>): readonly string[] {
  const entries = deleted.flatMap((line) => JSON.parse(line).entry as readonly { readonly request: { readonly url: string } }[])
  return [...entries.map(({ request }) => request.url), ...Object.values(files).flat()].sort()
}

/** Returns the expected lines of a Group export, each once: `Type/id` for deletions, the JSON of other resources. */
export function expectedOf(log: RacingWorld['log'], { asked, transactionTime }: Pick<Job, 'asked' | 'transactionTime'>): readonly string[] {
  const asOf = (name: string, instant: number): Written | undefined => log.get(name)?.findLast(({ when }) => instantAt(when) <= instant)
  /** Returns the resource at the transaction time, or its last version before a deletion. */
  const contentOf = (name: string): Tree =>
    log.get(name)?.findLast(({ when, tree }) => instantAt(when) <= transactionTime && tree !== undefined)?.tree
  const membersAt = (instant: number): readonly string[] =>
    (asOf('Group/g', instant)?.tree.member ?? []).map((each: Tree) => each.entity.reference)
  const members = membersAt(transactionTime).filter((name) => asked.patients.length === 0 || asked.patients.includes(name))
  const before = asked.since === undefined ? members : membersAt(asked.since)
  const added = members.filter((name) => !before.includes(name))
  const { since = Number.NEGATIVE_INFINITY, until = Number.POSITIVE_INFINITY } = asked
  const isOfType = (type: string): boolean => asked.types?.includes(type) ?? true
  const isInTime = (when: number, own: readonly string[]): boolean =>
    (instantAt(when) > since || own.some((name) => added.includes(name))) && instantAt(when) < until
  const passes = (tree: Tree): boolean => {
    const own = asked.filters.filter(({ type }) => type === tree.resourceType)
    return own.length === 0 || own.some(({ query }) => query === `status=${tree.status}`)
  }
  const lines = new Map<string, string>()
  const deleted: string[] = []
  const queue: Tree[] = []
  const take = (name: string, tree: Tree): void => {
    if (lines.has(name)) return
    lines.set(name, JSON.stringify(tree))
    queue.push(tree)
  }
  for (const name of log.keys()) {
    const version = asOf(name, transactionTime)
    const type = name.split('/')[0]!
    if (version === undefined || !GROUP_TYPES.includes(type) || !isOfType(type)) continue
    const tree = contentOf(name)
    // An existing Provenance does not belong to the owner of a deleted target. A deleted one does.
    const about = (name: string): Tree => (version.tree === undefined ? contentOf(name) : asOf(name, transactionTime)?.tree)
    const own: readonly string[] =
      type === 'Provenance' ? tree.target.flatMap((each: Tree) => ownersOf(about(each.reference))) : ownersOf(tree)
    if (!own.some((each) => members.includes(each))) continue
    if (version.tree === undefined) {
      if (asked.since !== undefined && instantAt(version.when) > since && instantAt(version.when) < until) deleted.push(name)
    } else if (isInTime(version.when, own) && passes(tree)) take(name, tree)
  }
  for (let tree = queue.shift(); tree !== undefined; tree = queue.shift())
    for (const name of referencesIn(tree)) {
      const version = asOf(name, transactionTime)
      const type = name.split('/')[0]!
      if (version?.tree === undefined || !['Patient', 'Organization', 'Practitioner'].includes(type)) continue
      if (type === 'Patient' || (isOfType(type) && isInTime(version.when, []) && passes(version.tree))) take(name, version.tree)
    }
  return [...deleted, ...lines.values()].sort()
}

/** Returns the patients that own a resource. */
const ownersOf = (tree: Tree): readonly string[] =>
  tree?.resourceType === 'Patient'
    ? [`Patient/${tree.id}`]
    : [tree?.subject, tree?.patient, ...(tree?.performer ?? [])].flatMap((each) =>
        each?.reference.startsWith('Patient/') ? [each.reference] : [],
      )

const referencesIn = (tree: Tree): readonly string[] =>
  typeof tree !== 'object' || tree === null
    ? []
    : Object.entries(tree).flatMap(([name, value]) => (name === 'reference' ? [value as string] : referencesIn(value)))

/** https://en.wikipedia.org/wiki/Linear_congruential_generator */
function randomOf(seed: number): () => number {
  let state = seed * 7_919 + 1
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return state / 2_147_483_648
  }
}
