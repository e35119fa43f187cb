/**
 * Packages in a bucket: their files, each package's below a key that is used once, and one object that names the packages there are. That is
 * only ever replaced as it was read, so that nobody undoes what another did. https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html
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
import { Unavailable } from '../../ports/faults/unavailable.ts'

/** `at`: what the keys of its files begin with. */
type Named = PackageLabel & { readonly at: string }
/** `change`: another one with each, so that no index is ever the one of before. */
type Index = { readonly change: string; readonly packages: readonly Named[] }
type Found = { readonly tag: string | undefined; readonly index: Index }

export type S3PackagesOptions = {
  readonly client: S3Client
  readonly bucket: string
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** Told, in one line, that the bucket is out of reach, and that it is read again. */
  readonly warn?: (line: string) => void
}

const PREFIX = 'packages/'
const INDEX = `${PREFIX}index.json`
const NONE: Found = { tag: undefined, index: { change: '', packages: [] } }

/** Milliseconds for which the index is not asked for again. */
const KNOWN_FOR = 10_000
/** Milliseconds for which it counts as it was read last while the bucket is out of reach. */
const LASTS = 60 * 60 * 1000
/** Milliseconds after which files that no index names belong to nobody who is still adding them. */
const ABANDONED = 24 * 60 * 60 * 1000
/** Milliseconds in which the bucket begins to answer. */
const PATIENCE = 10_000
/** Requests at once. */
const PARALLEL = 16
/** Others may have been faster each time. */
const ATTEMPTS = 20

export class S3Packages implements PackageStore {
  readonly #options: S3PackagesOptions
  #known: (Found & { readonly at: number; readonly now: PackageListing }) | undefined
  /** When it was in vain that the index was asked for, and what was known goes on. */
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
    if (!(error instanceof Unavailable) || known === undefined || Math.abs(now() - known.at) >= LASTS) throw error
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

  /** `known`: what is not sent again where it has not changed. */
  async #find(known?: Found): Promise<Found> {
    const answer = await this.#get(INDEX, known?.tag)
    if (answer === 'unchanged') return known!
    if (answer === undefined) return NONE
    return { tag: answer.ETag, index: indexIn(await answer.Body!.transformToString()) }
  }

  /** What `next` makes of the packages there are; undefined: nothing is to be changed, and false comes out. */
  async #change(next: (index: Index) => readonly Named[] | undefined): Promise<boolean> {
    this.#known = undefined
    const change = randomUUID()
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const { tag, index } = await this.#find()
      // The answer to a request that was sent again tells of the first one.
      if (index.change === change) return true
      const packages = next(index)
      if (packages === undefined) return false
      const condition = tag === undefined ? { IfNoneMatch: '*' } : { IfMatch: tag }
      if (await this.#put(INDEX, JSON.stringify({ change, packages } satisfies Index), condition)) return true
    }
    throw new Error('Others add and remove packages all the time: try again')
  }

  /** false: the condition does not hold. */
  async #put(key: string, text: string, condition: { readonly IfNoneMatch?: string; readonly IfMatch?: string } = {}): Promise<boolean> {
    const { client, bucket } = this.#options
    try {
      await client.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body: text, ContentType: 'application/json', ...condition }))
      return true
    } catch (error) {
      // 404: what was to be replaced is gone.
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
      throw new Unavailable(`The packages of definitions cannot be read (${(error as Error).message})`, { cause: error })
    }
  }

  /** What cannot be taken away now goes in a day, by who adds or removes something then. */
  #tidyUp(at: string | undefined): Promise<void> {
    return this.#clear(at).catch(() => undefined)
  }

  /** Takes away the files of a package that is none any more, and of those that nobody finished to add. */
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
    // As what is no index.
  }
  throw new Unavailable(`${INDEX} of the bucket is damaged: put its last version back`)
}

const isNamed = (each: unknown): boolean => ['name', 'version', 'at'].every((key) => typeof Object(each)[key] === 'string')

const statusOf = (error: unknown): number | undefined =>
  (error as { readonly $metadata?: { readonly httpStatusCode?: number } }).$metadata?.httpStatusCode

const keyOf = ({ name, version }: PackageLabel): string => `${name}-${version}`
const byName = (a: PackageLabel, b: PackageLabel): number => (keyOf(a) < keyOf(b) ? -1 : 1)
