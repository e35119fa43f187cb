/**
 * Packages in a bucket. The files of each package are below a key that is used once. One index object names the packages. It is replaced
 * only if it is unchanged since it was read, so that no process undoes the change of another.
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
/** `change`: random id of the change, so that no index equals an earlier one. */
type Index = { readonly change: string; readonly packages: readonly Named[] }
type Found = { readonly tag: string | undefined; readonly index: Index }

export type S3PackagesOptions = {
  readonly client: S3Client
  readonly bucket: string
  /** Returns the current time in milliseconds since 1970. */
  readonly now: () => number
  /** Receives one line when the bucket becomes unreachable, and one when it is readable again. */
  readonly warn?: (line: string) => void
}

const PREFIX = 'packages/'
const INDEX = `${PREFIX}index.json`
const NONE: Found = { tag: undefined, index: { change: '', packages: [] } }

/** How long the index is cached, in milliseconds. */
const KNOWN_FOR = 10_000
/** How long the cached index stays valid while the bucket is unreachable, in milliseconds. */
const LASTS = 60 * 60 * 1000
/** Age in milliseconds from which files without an index entry are abandoned. No process is still adding them. */
const ABANDONED = 24 * 60 * 60 * 1000
/** Maximum time in milliseconds until the bucket starts to respond. */
const PATIENCE = 10_000
/** Maximum parallel requests. */
const PARALLEL = 16
/** Maximum attempts of a change. Another process may have been faster each time. */
const ATTEMPTS = 20

export class S3Packages implements PackageStore {
  readonly #options: S3PackagesOptions
  #known: (Found & { readonly at: number; readonly now: PackageListing }) | undefined
  /** When a read of the index failed and the cached index remained in use. */
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

  /** `known`: cached index, which S3 does not send again if it is unchanged. */
  async #find(known?: Found): Promise<Found> {
    const answer = await this.#get(INDEX, known?.tag)
    if (answer === 'unchanged') return known!
    if (answer === undefined) return NONE
    return { tag: answer.ETag, index: indexIn(await answer.Body!.transformToString()) }
  }

  /** Replaces the packages by the result of `next`. If that is undefined, it changes nothing and returns false. */
  async #change(next: (index: Index) => readonly Named[] | undefined): Promise<boolean> {
    this.#known = undefined
    const change = randomUUID()
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const { tag, index } = await this.#find()
      // A retry of this change reported a conflict, but the first request had succeeded.
      if (index.change === change) return true
      const packages = next(index)
      if (packages === undefined) return false
      const condition = tag === undefined ? { IfNoneMatch: '*' } : { IfMatch: tag }
      if (await this.#put(INDEX, JSON.stringify({ change, packages } satisfies Index), condition)) return true
    }
    throw new Error('Others add and remove packages all the time: try again')
  }

  /** Returns false if the condition does not hold. */
  async #put(key: string, text: string, condition: { readonly IfNoneMatch?: string; readonly IfMatch?: string } = {}): Promise<boolean> {
    const { client, bucket } = this.#options
    try {
      await client.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body: text, ContentType: 'application/json', ...condition }))
      return true
    } catch (error) {
      // 404: the object to replace no longer exists.
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

  /** Removes unused files. If that fails, a change after a day removes them. */
  #tidyUp(at: string | undefined): Promise<void> {
    return this.#clear(at).catch(() => undefined)
  }

  /** Removes the files below `at` of a package without an index entry, and the files of all abandoned additions. */
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
    // Handle invalid JSON like any other invalid index.
  }
  throw new MachineFault('unavailable', `${INDEX} of the bucket is damaged: put its last version back`)
}

const isNamed = (each: unknown): boolean => ['name', 'version', 'at'].every((key) => typeof Object(each)[key] === 'string')

const statusOf = (error: unknown): number | undefined =>
  (error as { readonly $metadata?: { readonly httpStatusCode?: number } }).$metadata?.httpStatusCode

const keyOf = ({ name, version }: PackageLabel): string => `${name}-${version}`
const byName = (a: PackageLabel, b: PackageLabel): number => (keyOf(a) < keyOf(b) ? -1 : 1)
