/**
 * Packages in a bucket. The files of each added package have a key prefix that is used only once. One index object lists the packages. It
 * is replaced only if it is unchanged since it was read, so that no process undoes the change of another.
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html
 */
import { randomUUID } from 'node:crypto'
import {
  DeleteObjectCommand,
  GetObjectCommand,
  type GetObjectCommandOutput,
  ListObjectsV2Command,
  type ListObjectsV2CommandOutput,
  NoSuchKey,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3'
import {
  isSamePackage,
  type PackageLabel,
  type PackageListing,
  type PackageStore,
  type StoredPackage,
} from '../../ports/definitions/package-store.ts'
import { forEachInParallel } from '../../ports/execution/parallel.ts'
import { isFault, MachineFault } from '../../ports/faults.ts'

/** `at`: key prefix of the package's files. */
type Named = PackageLabel & { readonly at: string }
/** `change`: random id of the change that wrote the index. So no two versions of the index are equal. */
type Index = { readonly change: string; readonly packages: readonly Named[] }
type Found = { readonly tag: string | undefined; readonly index: Index }

export type S3PackagesOptions = {
  readonly client: S3Client
  readonly bucket: string
  /** Returns the current time in milliseconds since 1970. */
  readonly now: () => number
  /**
   * Receives one line for the operator when the bucket becomes unreachable and the cached index is used, and one when it is readable again.
   */
  readonly warn?: (line: string) => void
}

const PREFIX = 'packages/'
const INDEX = `${PREFIX}index.json`
const NONE: Found = { tag: undefined, index: { change: '', packages: [] } }

/** How long the index object is cached, in milliseconds. Changes of other processes are visible after that. */
const KNOWN_FOR = 10_000
/** How long the cached index is used while the bucket is unreachable, in milliseconds. After that reads throw the fault `unavailable`. */
const LASTS = 60 * 60 * 1000
/** Age in milliseconds from which files of a package that the index does not list are removed. No process is still adding them. */
const ABANDONED = 24 * 60 * 60 * 1000
/** Maximum time in milliseconds until the bucket begins to respond to a read. */
const PATIENCE = 10_000
/** Maximum parallel requests to S3. */
const PARALLEL = 16
/** Maximum attempts of a change. An attempt fails if another process changed the index meanwhile. */
const ATTEMPTS = 20

export class S3Packages implements PackageStore {
  readonly #options: S3PackagesOptions
  #known: (Found & { readonly at: number; readonly now: PackageListing }) | undefined
  /** Time of the last failed read of the index, while the cached index is in use. */
  #triedAt: number | undefined
  #asking: Promise<PackageListing> | undefined

  constructor(options: S3PackagesOptions) {
    this.#options = options
  }

  async now(): Promise<PackageListing> {
    const known = this.#known
    const at = this.#triedAt ?? known?.at
    if (known !== undefined && Math.abs(this.#options.now() - at!) < KNOWN_FOR) return known.now
    this.#asking ??= this.#ask()
      .catch((error: unknown) => this.#lastKnown(error))
      .finally(() => (this.#asking = undefined))
    return this.#asking
  }

  #lastKnown(error: unknown): PackageListing {
    const { now, warn } = this.#options
    const known = this.#known
    if (!isFault(error, 'unavailable') || known === undefined || Math.abs(now() - known.at) >= LASTS) throw error
    if (this.#triedAt === undefined) warn?.(`${error.message}: those of ${new Date(known.at).toISOString()} count for an hour at most`)
    this.#triedAt = now()
    return known.now
  }

  async add(label: PackageLabel, files: ReadonlyMap<string, string>): Promise<boolean> {
    const { name, version } = label
    const named = { name, version, at: `${PREFIX}${name}-${version}/${randomUUID()}/` }
    if ((await this.#find()).index.packages.some((each) => isSamePackage(each, label))) return false
    await forEachInParallel([...files], PARALLEL, ([file, text]) => this.#put(`${named.at}${file}`, text))
    const isAdded = await this.#change(({ packages }) =>
      packages.some((each) => isSamePackage(each, label)) ? undefined : [...packages, named].toSorted(byName),
    )
    await this.#tidyUp(isAdded ? undefined : named.at)
    return isAdded
  }

  async remove(label: PackageLabel): Promise<boolean> {
    let at: string | undefined
    const isRemoved = await this.#change(({ packages }) => {
      at = packages.find((each) => isSamePackage(each, label))?.at
      return at === undefined ? undefined : packages.filter((each) => each.at !== at)
    })
    if (isRemoved) await this.#tidyUp(at)
    return isRemoved
  }

  async #ask(): Promise<PackageListing> {
    const at = this.#options.now()
    const found = await this.#find(this.#known)
    const isSame = this.#known?.tag === found.tag && this.#known !== undefined
    const now = isSame ? this.#known!.now : { state: found.tag ?? 'none', packages: found.index.packages.map((named) => this.#kept(named)) }
    this.#known = { ...found, at, now }
    if (this.#triedAt !== undefined) this.#options.warn?.('The packages of definitions can be read again')
    this.#triedAt = undefined
    return now
  }

  #kept({ name, version, at }: Named): StoredPackage {
    return {
      ...{ name, version },
      isThere: async () => (await this.#find()).index.packages.some((each) => each.at === at),
      read: async (file) => (await this.#get(`${at}${file}`))?.Body?.transformToString(),
    }
  }

  /** Reads the index. `known`: cached index, which is returned without a transfer if it is unchanged. */
  async #find(known?: Found): Promise<Found> {
    const answer = await this.#get(INDEX, known?.tag)
    if (answer === 'unchanged') return known!
    if (answer === undefined) return NONE
    return { tag: answer.ETag, index: indexIn(await answer.Body!.transformToString()) }
  }

  /**
   * Replaces the listed packages by the result of `next` and returns true. If the result is undefined, it changes nothing and returns
   * false.
   */
  async #change(next: (index: Index) => readonly Named[] | undefined): Promise<boolean> {
    this.#known = undefined
    const change = randomUUID()
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const { tag, index } = await this.#find()
      // The client repeated the previous write, and the repetition failed on the condition because the first one had succeeded.
      if (index.change === change) return true
      const packages = next(index)
      if (packages === undefined) return false
      const condition = tag === undefined ? { IfNoneMatch: '*' } : { IfMatch: tag }
      if (await this.#put(INDEX, JSON.stringify({ change, packages } satisfies Index), condition)) return true
    }
    throw new Error('Others add and remove packages all the time: try again')
  }

  /** Writes an object. Returns false if the condition does not hold. */
  async #put(key: string, text: string, condition: { readonly IfNoneMatch?: string; readonly IfMatch?: string } = {}): Promise<boolean> {
    const { client, bucket } = this.#options
    try {
      await client.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body: text, ContentType: 'application/json', ...condition }))
      return true
    } catch (error) {
      // With `IfMatch`, 404 means that the object to replace no longer exists.
      if (condition.IfMatch !== undefined && statusOf(error) === 404) return false
      if (statusOf(error) === 412 || statusOf(error) === 409) return false
      throw error
    }
  }

  #get(key: string): Promise<GetObjectCommandOutput | undefined>
  #get(key: string, unless: string | undefined): Promise<GetObjectCommandOutput | 'unchanged' | undefined>
  async #get(key: string, unless?: string): Promise<GetObjectCommandOutput | 'unchanged' | undefined> {
    const { client, bucket } = this.#options
    try {
      const command = new GetObjectCommand({ Bucket: bucket, Key: key, ...(unless === undefined ? {} : { IfNoneMatch: unless }) })
      return await client.send(command, { abortSignal: AbortSignal.timeout(PATIENCE) })
    } catch (error) {
      if (error instanceof NoSuchKey) return undefined
      if (statusOf(error) === 304) return 'unchanged'
      throw new MachineFault('unavailable', `The packages of definitions cannot be read (${(error as Error).message})`, { cause: error })
    }
  }

  /** Removes unused files. A failure is ignored: a later change removes the files when they are a day old. */
  #tidyUp(at: string | undefined): Promise<void> {
    return this.#clear(at).catch(() => undefined)
  }

  /** Removes the files below `at` if the index does not list that package, and all unlisted files that are older than ABANDONED. */
  async #clear(at: string | undefined): Promise<void> {
    const { client, bucket, now } = this.#options
    const there = (await this.#find()).index.packages
    const old = now() - ABANDONED
    for (let token: string | undefined, isFirst = true; isFirst || token !== undefined; isFirst = false) {
      const page: ListObjectsV2CommandOutput = await client.send(
        new ListObjectsV2Command({ Bucket: bucket, Prefix: PREFIX, ContinuationToken: token }),
      )
      const keys = (page.Contents ?? []).filter(({ Key, LastModified }) => {
        if (Key === INDEX || there.some((named) => Key!.startsWith(named.at))) return false
        return (at !== undefined && Key!.startsWith(at)) || LastModified!.getTime() < old
      })
      await forEachInParallel(keys, PARALLEL, ({ Key }) => client.send(new DeleteObjectCommand({ Bucket: bucket, Key })))
      token = page.NextContinuationToken
    }
  }
}

function indexIn(text: string): Index {
  try {
    const { change, packages } = JSON.parse(text)
    if (typeof change === 'string' && Array.isArray(packages) && packages.every(isNamed)) return { change, packages }
  } catch {
    // Invalid JSON is reported below, like any other invalid index.
  }
  throw new MachineFault('unavailable', `${INDEX} of the bucket is damaged: put its last version back`)
}

const isNamed = (each: unknown): boolean => ['name', 'version', 'at'].every((key) => typeof Object(each)[key] === 'string')

const statusOf = (error: unknown): number | undefined =>
  (error as { readonly $metadata?: { readonly httpStatusCode?: number } }).$metadata?.httpStatusCode

const keyOf = ({ name, version }: PackageLabel): string => `${name}-${version}`
const byName = (a: PackageLabel, b: PackageLabel): number => (keyOf(a) < keyOf(b) ? -1 : 1)
