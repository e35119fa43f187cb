/**
 * Which indices there are. A type has a live index behind an alias, and beside it, while it is rebuilt, the next one behind another:
 * `fhir-patient` → `fhir-patient-v1`, `fhir-patient-next` → `fhir-patient-v2`. All live ones stand behind `fhir-all`.
 */
import { type Cluster, Failed } from './cluster.ts'
import { indexDefinition, type Settings } from './index-definition.ts'

/** More types than this are searched by the alias of all: their names would be too long for a line of a request. */
const MOST_NAMED = 30

/** With the pause between two some seconds. */
const LOOKS = 40

type State = { readonly live: string | undefined; readonly next: string | undefined }
type Indices = Readonly<Record<string, { readonly aliases: Readonly<Record<string, unknown>> }>>

export class Aliases {
  readonly #cluster: Cluster
  readonly #prefix: string
  readonly #settings: Settings
  readonly #knownFor: number
  #building: { readonly names: Promise<Set<string>>; readonly until: number } | undefined

  /** `knownFor`: ms after which it is looked up again what is being rebuilt. */
  constructor(cluster: Cluster, prefix: string, settings: Settings, knownFor: number) {
    this.#cluster = cluster
    this.#prefix = prefix
    this.#settings = settings
    this.#knownFor = knownFor
  }

  live(type: string): string {
    return `${this.#prefix}-${type.toLowerCase()}`
  }

  next(type: string): string {
    return `${this.live(type)}-next`
  }

  searched(types: readonly string[]): string {
    const isNamed = types.length > 0 && types.length <= MOST_NAMED
    return isNamed ? types.map((type) => this.live(type)).join(',') : this.#everything
  }

  get #everything(): string {
    return `${this.#prefix}-all`
  }

  /** Aliases of the indices that are being rebuilt. */
  async building(): Promise<ReadonlySet<string>> {
    if (this.#building === undefined || performance.now() >= this.#building.until) this.forgetBuilding()
    this.#building ??= { names: this.#readBuilding(), until: performance.now() + this.#knownFor }
    try {
      return await this.#building.names
    } catch (error) {
      this.forgetBuilding()
      throw error
    }
  }

  forgetBuilding(): void {
    this.#building = undefined
  }

  /** Its aliases come last: searches that meet an index whose parts have not started yet fail. */
  async createLive(type: string): Promise<void> {
    const index = `${this.live(type)}-v1`
    const isMade = await this.#create(index, [])
    if (!isMade && (await this.#isSoonLive(type))) return
    for (const alias of [this.#everything, this.live(type)]) await this.#cluster.send({ method: 'PUT', path: `/${index}/_alias/${alias}` })
  }

  /** The name of the next index; the one that is there already is gone on with. */
  async createNext(type: string): Promise<string> {
    const before = await this.state(type)
    if (before.live === undefined) await this.createLive(type)
    const { live, next } = before.live === undefined ? await this.state(type) : before
    const name = next ?? `${this.live(type)}-v${versionOf(live) + 1}`
    if (next === undefined) await this.#create(name, [this.next(type)])
    this.forgetBuilding()
    return name
  }

  async state(type: string): Promise<State> {
    const [liveAlias, nextAlias] = [this.live(type), this.next(type)]
    const indices = await this.#cluster.send<Indices>({ method: 'GET', path: `/_alias/${liveAlias}*` })
    const behind = (alias: string) => Object.keys(indices).find((name) => Object.hasOwn(indices[name]!.aliases, alias))
    return { live: behind(liveAlias), next: behind(nextAlias) }
  }

  /** One step: every search sees the one or the other. */
  async swap(type: string, index: string): Promise<void> {
    const { live, next } = await this.state(type)
    if (live !== index) {
      if (next !== index) throw new Error(`${index} is no longer built`)
      await this.#cluster.send({ method: 'POST', path: `/${index}/_refresh` })
      await this.#exchange(type, live, index)
      if (live !== undefined) await this.remove(live)
    }
    this.forgetBuilding()
  }

  async remove(index: string): Promise<void> {
    await this.#cluster
      .send({ method: 'DELETE', path: `/${index}`, querystring: { ignore_unavailable: true } })
      .catch(unless(404))
      .finally(() => this.forgetBuilding())
  }

  async #exchange(type: string, live: string | undefined, index: string): Promise<void> {
    const aliases = [this.live(type), this.#everything]
    const actions = [
      ...(live === undefined ? [] : [{ remove: { index: live, aliases } }]),
      { add: { index, aliases } },
      { remove: { index, alias: this.next(type) } },
    ]
    try {
      await this.#cluster.send({ method: 'POST', path: '/_aliases', body: { actions } })
    } catch (error) {
      // An attempt whose answer was lost may have done it.
      if ((await this.state(type)).live !== index) throw error
    }
  }

  /** Whoever makes the index does the rest, unless he is gone. */
  async #isSoonLive(type: string): Promise<boolean> {
    for (let look = 0; look < LOOKS; look++) {
      if ((await this.state(type)).live !== undefined) return true
      await this.#cluster.pause(1)
    }
    return false
  }

  /** Its parts have started then. False: it is there already, or will be. */
  async #create(index: string, aliases: readonly string[]): Promise<boolean> {
    const body = { ...indexDefinition(this.#settings), aliases: Object.fromEntries(aliases.map((alias) => [alias, {}])) }
    const made = await this.#cluster.send({ method: 'PUT', path: `/${index}`, body }).catch(unless('resource_already_exists_exception'))
    return made !== undefined
  }

  async #readBuilding(): Promise<Set<string>> {
    const indices = await this.#cluster.send<Indices>({ method: 'GET', path: `/_alias/${this.#prefix}-*-next` })
    return new Set(Object.values(indices).flatMap(({ aliases }) => Object.keys(aliases)))
  }
}

const versionOf = (index: string | undefined): number => Number(/-v(\d+)$/.exec(index ?? '')?.[1] ?? 0)

const unless =
  (expected: number | string) =>
  (error: unknown): void => {
    if (!(error instanceof Failed) || (error.status !== expected && error.kind !== expected)) throw error
  }
