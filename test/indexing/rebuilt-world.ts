/** A store, an index and its rebuild in memory: the steps as the state machine runs them, by one release or another. */
import { expect } from '@jest/globals'
import { InProcessWorkflow } from '../../lambdas/adapters/in-process/workflow.ts'
import { applySearchParameter } from '../../lambdas/indexing/lifecycle/definitions.ts'
import { recordFollowedVersions } from '../../lambdas/indexing/lifecycle/index-retention.ts'
import type { IndexState, SharedIndexState, StateScope } from '../../lambdas/indexing/lifecycle/state.ts'
import { encode, NO_STORED_STATE } from '../../lambdas/indexing/lifecycle/stored-state.ts'
import type { NextIndex, RebuildParts } from '../../lambdas/indexing/rebuild/rebuild-parts.ts'
import { type Lane, RebuildProgress } from '../../lambdas/indexing/rebuild/rebuild-progress.ts'
import { type RebuildStepInput, rebuildStep } from '../../lambdas/indexing/rebuild/rebuild-steps.ts'
import { rebuildWorkflow, WORKFLOW } from '../../lambdas/indexing/rebuild/workflow.ts'
import { indexStream } from '../../lambdas/indexing/stream/index-stream.ts'
import { UnindexableVersions } from '../../lambdas/indexing/stream/unindexable-versions.ts'
import { TenantSearchContexts } from '../../lambdas/indexing/tenant-search-contexts.ts'
import { MachineFault } from '../../lambdas/ports/faults.ts'
import type { IndexDocument } from '../../lambdas/ports/search/search-index.ts'
import { nameOf } from '../../lambdas/ports/store/newest-versions.ts'
import type { ResourceKey, ResourceVersion, ScanRequest, Write } from '../../lambdas/ports/store/resource-store.ts'
import { type Random, randomOf } from '../contracts/generated-search.ts'
import { EXPRESSIONS } from '../fixtures/expressions.ts'
import { MemoryRows } from '../fixtures/memory/kept-rows.ts'
import { memoryIndexState, memoryStoredState } from '../fixtures/memory-index-state.ts'
import { patient } from '../fixtures/resources.ts'
import { deletionOf, patientKeyOf, resourceKeyOf, versionOf, writeOf } from '../fixtures/versions.ts'

export const TENANT = 'one'
const DAMAGE = new MachineFault('store-damaged', 'a body is gone')
export const STEP_FUNCTION_ARN = 'arn:aws:lambda:us-east-1:000000000000:function:step'

/** A serving index, at most one next one, and retained ones. As in OpenSearch, a document that already has the version stays. */
class Indices {
  #count = 1
  live = { name: 'v1', documents: new Map<string, IndexDocument>() }
  next: Indices['live'] | undefined
  kept: Indices['live'][] = []
  /** Health of a full index. */
  health: 'green' | 'yellow' | 'red' = 'green'

  apply(documents: readonly IndexDocument[], to = this.both, least = 1): void {
    for (const { documents: index } of to)
      for (const each of documents) if ((index.get(nameOf(each))?.version ?? 0) + least <= each.version) index.set(nameOf(each), each)
  }

  loseAll(): void {
    this.live = { name: 'v1', documents: new Map() }
    this.next = undefined
  }

  get both() {
    return [this.live, ...(this.next === undefined ? [] : [this.next])]
  }

  async applyAgain(documents: readonly IndexDocument[]): Promise<void> {
    this.apply(documents, this.both, 0)
  }

  async show(): Promise<void> {}

  async rebuild(_type: string, name?: string) {
    if (name === undefined) this.next ??= { name: `v${++this.#count}`, documents: new Map() }
    return this.#named(name ?? this.next!.name)
  }

  async takeBack(_type: string, name: string) {
    const found = this.kept.find((each) => each.name === name)
    if (found === undefined) return undefined
    this.next = found
    return this.#named(name)
  }

  async isSound(type: string, name: string): Promise<boolean> {
    return this.isThere(type, name)
  }

  async isThere(_type: string, name: string): Promise<boolean> {
    return this.both.some((each) => each.name === name)
  }

  async abandon(_type: string, but?: string): Promise<void> {
    this.next = undefined
    this.kept = this.kept.filter(({ name }) => name === but)
  }

  async removeKept(but: () => Promise<readonly string[]>): Promise<void> {
    const spared = await but()
    this.kept = this.kept.filter(({ name }) => spared.includes(name))
  }

  #named(name: string) {
    return {
      name,
      identity: 'first',
      apply: async (documents: readonly IndexDocument[], isAgain = false) => {
        if (this.next?.name !== name) throw new Error(`${name} is no longer built`)
        this.apply(documents, [this.next], isAgain ? 0 : 1)
      },
      complete: async () => this.health,
      swap: async (isKept: boolean) => {
        if (this.live.name !== name) {
          if (this.next?.name !== name) throw new Error(`${name} is no longer built`)
          this.kept = isKept ? [this.live] : []
          this.live = this.next
          this.next = undefined
        }
        return isKept ? this.kept[0]?.name : undefined
      },
    }
  }
}

/** A step of the rebuild. `open` chooses an index, `fill` indexes documents, `swap` lets a full index serve, and `next` does anything else. */
export type Stage = { readonly action: 'next' | 'open' | 'fill' | 'swap'; readonly input: RebuildStepInput; readonly type?: string }

type RebuiltApply = (documents: readonly IndexDocument[], isAgain?: boolean) => Promise<void>

const madeBy = (release: number, documents: readonly IndexDocument[]): readonly IndexDocument[] =>
  documents.map((each) => ({ ...each, registry: release }))

const ALL: StateScope = { definitions: 'all', poisoned: 'all', rebuilds: 'all' }

export class RebuildWorld {
  readonly #state: SharedIndexState
  /** The state with the parts of all tenants. */
  readonly state: SharedIndexState
  readonly indices = new Indices()
  readonly progress = new RebuildProgress(new MemoryRows())
  /** Warnings of the steps. */
  readonly warnings: string[] = []
  readonly heads = new Map<string, ResourceVersion>()
  readonly steps: Stage['action'][] = []
  /** Ids of the documents that the steps created. */
  readonly made: string[] = []
  /** Ids of versions with announced canonical URLs. */
  readonly announced = new Set<string>()
  /** Ids of versions whose identifier rows a rebuild added. */
  readonly listed = new Set<string>()
  /** Start of a segment → the instants of its reads. */
  readonly instants = new Map<number, Set<number>>()
  readonly #random: Random
  /** The running release. Documents carry it as the number of their registry. */
  release = 1
  /** Retention of a replaced index, in milliseconds. */
  keepFor = 1_000_000
  epoch = 0
  /** Time of a step after which it starts no further page, in milliseconds. */
  budget = -1
  #now = 1_000
  held: ResourceVersion[] | undefined
  /** Versions that cannot be read: `ID VERSION`. */
  readonly damaged = new Set<string>()
  beforeHistory: (id: string) => Promise<void> = async () => undefined
  /** Called before each write of the index state. */
  onWrite: () => void = () => undefined
  /** Receives the versions whose rows a rebuild adds. */
  onListed: (version: ResourceVersion) => void = () => undefined
  /** Receives the versions of the stream, with the state and the release that indexes them. */
  onFollowed: (state: IndexState, version: ResourceVersion, release: number) => void = () => undefined

  constructor(random: Random, areRows: boolean) {
    this.#random = random
    const stored = memoryStoredState({ ...NO_STORED_STATE, ...(areRows ? { rows: true } : {}) })
    this.#state = memoryIndexState({
      ...stored,
      write: async (...written) => {
        this.onWrite()
        return stored.write(...written)
      },
    })
    this.state = { read: () => this.#state.read(ALL), change: (change) => this.#state.change(change, ALL) }
  }

  /** Writes a patient and delivers it through the stream. */
  write(id: string, family: string, tenant = TENANT): Promise<void> {
    return this.writeText(id, JSON.stringify(patient(id, { family })), tenant)
  }

  writeText(id: string, text: string, tenant = TENANT): Promise<void> {
    return this.#follow(writeOf(patientKeyOf(id, tenant), { ...this.#next(id, tenant), body: text }))
  }

  delete(id: string): Promise<void> {
    return this.#follow(deletionOf(patientKeyOf(id, TENANT), this.#next(id)))
  }

  #next(id: string, tenant = TENANT) {
    return { expected: this.heads.get(nameOf(patientKeyOf(id, tenant)))?.versionId ?? 0, lastUpdated: ++this.#now }
  }

  async #follow(write: Write): Promise<void> {
    const version = versionOf(write)
    this.heads.set(nameOf(version), version)
    if (this.held === undefined) return this.deliver(version)
    this.held.push(version)
  }

  /** Holds back later writes, in their order. */
  hold(): void {
    this.held ??= []
  }

  /** Delivers the held writes to the running release. */
  async letGo(): Promise<void> {
    const held = this.held ?? []
    this.held = undefined
    for (const version of held) await this.deliver(version)
  }

  async deliver(version: ResourceVersion, release = this.release): Promise<void> {
    const { value } = await this.state.change((state) => recordFollowedVersions(state, [version], String(release)))
    this.onFollowed(value, version, release)
    const readings = new TenantSearchContexts({}, 'documents')
    const reading = (tenant: string) => readings.of(value, tenant)
    const index = { apply: async (documents: readonly IndexDocument[]) => this.indices.apply(madeBy(release, documents)) }
    await indexStream([{ sequence: '1', version }], { index, reading, expressions: EXPRESSIONS, onPoison: () => undefined })
  }

  define(id: string, expression: string, tenant = TENANT): Promise<unknown> {
    const resource = { resourceType: 'SearchParameter', id, url: `http://example.org/${id}`, name: id, status: 'active', code: id }
    const write = writeOf(resourceKeyOf(tenant, 'SearchParameter', id), {
      body: { ...resource, base: ['Patient'], type: 'string', expression },
    })
    return this.state.change((state) => applySearchParameter(state, versionOf(write)))
  }

  /** `reach`: called before the stage of a step that `run` cannot know from its input. */
  parts(reach: (action: 'open' | 'swap', type: string) => Promise<void> = async () => undefined): RebuildParts {
    const it = this
    const { heads, indices, release } = this
    const told = (documents: readonly IndexDocument[]) => {
      it.made.push(...documents.map(({ id }) => id))
      return madeBy(release, documents)
    }
    const made = <Rebuilt extends { readonly apply: RebuiltApply } | undefined>(rebuilt: Rebuilt): Rebuilt =>
      rebuilt && { ...rebuilt, apply: (documents, isAgain) => rebuilt.apply(told(documents), isAgain) }
    const completed = (type: string, rebuilt: NextIndex): NextIndex => ({
      ...rebuilt,
      async complete() {
        await reach('swap', type)
        return rebuilt.complete()
      },
    })
    return {
      state: this.#state,
      progress: this.progress,
      warn: (message) => void this.warnings.push(message),
      index: {
        rebuild: async (type, name) => completed(type, made(await indices.rebuild(type, name))),
        takeBack: async (type, name) => made(await indices.takeBack(type, name)),
        isSound: (type, name) => indices.isSound(type, name),
        applyAgain: (documents) => indices.applyAgain(told(documents)),
        async show(type) {
          await reach('swap', type)
          return indices.show()
        },
        isThere: (type, name) => indices.isThere(type, name),
        async abandon(type, but) {
          await reach('open', type)
          return indices.abandon(type, but)
        },
        removeKept: (but) => indices.removeKept(but),
      },
      reading: {},
      extraction: String(release),
      keepFor: this.keepFor,
      epoch: this.epoch,
      expressions: EXPRESSIONS,
      now: () => this.#now,
      wait: 0,
      budget: this.budget,
      poisoned: new UnindexableVersions(this.#state),
      announce: async (versions) => {
        for (const { id } of versions) it.announced.add(id)
      },
      addIdentifiers: async (versions) => {
        for (const version of versions) {
          it.listed.add(version.id)
          it.onListed(version)
        }
      },
      former() {
        throw new Error('the store was never set back')
      },
      newIdentity: () => 'another',
      resources: {
        heads: async () => [],
        history: async (scope) => {
          await it.beforeHistory(scope.id!)
          return { versions: [{ ...it.heads.get(nameOf(scope as ResourceKey))!, body: new Uint8Array() }], more: false }
        },
        tenants: async function* () {
          yield* ['default', ...new Set([...heads.values()].map(({ tenant }) => tenant).toSorted())]
        },
        extent: async ({ tenant, type, since = 0 }) => {
          const instants = this.#placesOf(tenant, type).flatMap(({ lastUpdated }) => (lastUpdated > since ? [lastUpdated] : []))
          const cuts = [10, 20, 30].map((n) => instants.at(-n)).filter((cut) => cut !== undefined)
          return { entries: instants.length, cuts: [...new Set(cuts)] }
        },
        // Newest first, with limited reads per page: pages with deletions have fewer versions, or none.
        scan: async function* ({ tenant, type, asOf, since = 0, until = asOf, deletions, tellsDamaged, cursor, limit }: ScanRequest) {
          if (limit > 1) it.instants.set(since, (it.instants.get(since) ?? new Set()).add(asOf))
          for (let after = Number(cursor ?? Number.POSITIVE_INFINITY); ; ) {
            const mine = it.#placesOf(tenant, type).filter((each) => each.lastUpdated > since && each.lastUpdated <= Math.min(asOf, until))
            const left = mine.filter(({ lastUpdated }) => lastUpdated < after)
            const places = left.slice(0, Math.min(limit, 5))
            const isDamaged = ({ id, versionId }: ResourceVersion) => it.damaged.has(`${id} ${versionId}`)
            const versions = places.filter((each) => (deletions || !each.deleted) && !isDamaged(each))
            const damaged = places
              .filter(isDamaged)
              .map(({ tenant, type, id, versionId, deleted }) => ({ tenant, type, id, versionId, deleted, damage: DAMAGE }))
            if (damaged.length > 0 && !tellsDamaged) throw DAMAGE
            after = places.at(-1)?.lastUpdated ?? 0
            yield { versions, damaged, ...(left.length > places.length ? { cursor: String(after) } : {}) }
            if (left.length <= places.length) return
          }
        },
      },
    }
  }

  /** Latest versions of a type of a tenant, newest first. */
  #placesOf(tenant: string, type: string): readonly ResourceVersion[] {
    const mine = [...this.heads.values()].filter((head) => head.tenant === tenant && head.type === type)
    return mine.toSorted((a, b) => b.lastUpdated - a.lastUpdated)
  }

  /** Makes the steps of the execution before its first `fill`. Returns the lanes. */
  async nextFill(execution: string, width = 2): Promise<{ readonly lanes: readonly Lane[] }> {
    for (let i = 0; i < 20; i++) {
      const next = await rebuildStep(this.parts())({ action: 'next', workflow: WORKFLOW, execution, width })
      if ('lanes' in next) return next as { readonly lanes: readonly Lane[] }
    }
    throw new Error('no segment is filled')
  }

  /** Calls `around` before and after each step. If it throws, the step is repeated. */
  async run(execution: string, around: (stage: Stage, isDone: boolean) => Promise<void> = async () => undefined): Promise<void> {
    const failures: unknown[] = []
    const workflow = new InProcessWorkflow({
      definition: rebuildWorkflow(STEP_FUNCTION_ARN),
      step: async (input: RebuildStepInput) => {
        let stage: Stage = { action: input.action, input }
        const reach = async (action: Stage['action'], type: string): Promise<void> => {
          stage = { action, input, type }
          await around(stage, false)
        }
        if (input.action === 'fill') await around(stage, false)
        const result = await rebuildStep(this.parts(reach))(input)
        this.steps.push(stage.action)
        await around(stage, true)
        return result
      },
      writers: 40,
      report: (error) => failures.push(error),
      pause: async () => undefined,
      waits: 0,
    })
    await workflow.start(execution, {})
    await workflow.idle()
    for (const failure of failures) throw failure
  }

  /** Checks that every resource is indexed by the running release, with the fields of these custom parameters. */
  async expectWhole(...parameters: readonly string[]): Promise<void> {
    const { definitions, rebuilds, worker } = (await this.state.read()).value
    expect(definitions.map(({ id, state }) => `${id} ${state}`).toSorted()).toEqual(parameters.map((id) => `${id} active`).toSorted())
    expect([rebuilds, worker]).toEqual([[], undefined])
    const living = [...this.heads.values()].filter(({ deleted }) => !deleted)
    for (const version of living) {
      const name = nameOf(version)
      const document = this.indices.live.documents.get(name)
      expect([name, document?.version, document?.registry]).toEqual([name, version.versionId, this.release])
      const mine = definitions.filter(({ tenant }) => tenant === version.tenant).map(({ mapping }) => mapping.field)
      expect(document?.present.filter((field) => field.includes('~')).toSorted()).toEqual(mine.toSorted())
    }
    expect(encode((await this.state.read()).value).behind).toEqual({})
    const found = [...this.indices.live.documents.values()].filter(({ deleted }) => !deleted)
    expect(found.map(nameOf).toSorted()).toEqual(living.map(nameOf).toSorted())
  }

  pass(time: number): void {
    this.#now += time
  }

  get now(): number {
    return this.#now
  }

  below(n: number): number {
    return this.#random.below(n)
  }
}

/** `areRows`: whether the parts of tenants in the index state are rows. */
export async function createRebuildWorld(seed: number, patients = 40, areRows = false): Promise<RebuildWorld> {
  const made = new RebuildWorld(randomOf(seed), areRows)
  for (let i = 0; i < patients; i++) await made.write(`p${i}`, `f${i}`)
  return made
}
