/** Packages in S3: on a bucket in memory, and on the engine of S3_ENDPOINT (credentials S3_ACCESS_KEY, S3_SECRET_KEY). */
import { DeleteObjectCommand, ListObjectsV2Command, PutObjectCommand, type S3Client } from '@aws-sdk/client-s3'
import { describe, expect, it } from '@jest/globals'
import { S3Packages } from '../../../lambdas/adapters/s3/packages.ts'
import { definitionsOf } from '../../../lambdas/runtime/definitions.ts'
import { conformanceContract } from '../../contracts/conformance.contract.ts'
import { packagesContract } from '../../contracts/packages.contract.ts'
import { packageLoader } from '../../fixtures/packages.ts'
import { createMemoryBucket } from '../../fixtures/s3.ts'
import { createBucketOn } from '../../fixtures/s3-engine.ts'

const SECOND = 1_000
const DAY = 24 * 60 * 60 * SECOND

type Place = { readonly client: S3Client; readonly bucket: string; readonly close: () => Promise<void> }

function contracts(name: string, open: () => Promise<Place>): void {
  packagesContract(name, async () => {
    const { client, bucket, close } = await open()
    let time = Date.now()
    const packages = () => new S3Packages({ client, bucket, now: () => time })
    return {
      stores: [packages(), packages()],
      server: packages(),
      async later() {
        time += 10 * SECOND
      },
      async spoil(label, file, text) {
        const { Contents = [] } = await client.send(
          new ListObjectsV2Command({ Bucket: bucket, Prefix: `packages/${label.name}-${label.version}/` }),
        )
        const Key = Contents.find((each) => each.Key!.endsWith(`/${file}`))!.Key!
        if (text === undefined) await client.send(new DeleteObjectCommand({ Bucket: bucket, Key }))
        else await client.send(new PutObjectCommand({ Bucket: bucket, Key, Body: Buffer.from(text) }))
      },
      close,
    }
  })

  conformanceContract(name, async () => {
    const { client, bucket, close } = await open()
    const store = new S3Packages({ client, bucket, now: () => Date.now() })
    return { conformance: definitionsOf(store), load: packageLoader(store), close }
  })
}

contracts('A bucket in memory', async () => ({
  client: createMemoryBucket(() => Date.now()).client,
  bucket: 'b',
  close: async () => undefined,
}))

const endpoint = process.env.S3_ENDPOINT
if (endpoint === undefined) {
  const reason = 'S3_ENDPOINT is not set; `node test/engines/run.ts minio -- npm test -- test/adapters/s3` starts one'
  process.stderr.write(`Packages are not tested on an engine of S3: ${reason}\n`)
  describe('S3', () => {
    it.skip(`is not tested: ${reason}`, () => {})
  })
} else {
  contracts('S3', async () => {
    const { client, name, close } = await createBucketOn(endpoint)
    return { client, bucket: name, close }
  })
}

describe('Packages in a bucket', () => {
  let time = Date.parse('2031-01-01')
  const label = { name: 'example.a', version: '1.0.0' }
  const files = new Map([['package.json', '{}']])
  const opened = () => {
    const bucket = createMemoryBucket(() => time)
    return { ...bucket, packages: () => new S3Packages({ client: bucket.client, bucket: 'b', now: () => time }) }
  }
  const namesIn = async (packages: S3Packages) => (await packages.now()).packages.map(({ name }) => name)

  it('are requested once in ten seconds for all callers, and transferred only after a change', async () => {
    const { requests: asked, packages } = opened()
    const [server, operator] = [packages(), packages()]
    await operator.add(label, files)
    asked.length = 0
    const before = (await Promise.all([server.now(), server.now()]))[0]
    expect([before.packages.length, asked]).toEqual([1, ['get packages/index.json']])
    time += 10 * SECOND - 1
    expect([await server.now(), asked.length]).toEqual([before, 1])
    time += 1
    expect((await server.now()).packages[0]).toBe(before.packages[0])
    expect(asked.length).toBe(2)
    await operator.remove(label)
    time += 10 * SECOND
    expect(await namesIn(server)).toEqual([])
  })

  it('are unchanged if the bucket refuses a write, and are added by a retry', async () => {
    const { failing, objects, packages } = opened()
    const operator = packages()
    const broken = () => new Error('refused')
    // An addition reads the index, puts a file, reads the index again, and puts it.
    for (const before of [0, 1, 2, 3]) {
      failing.push(...Array.from({ length: before }, () => undefined), broken())
      await expect(operator.add(label, files)).rejects.toThrow('refused')
      expect(await namesIn(packages())).toEqual([])
    }
    expect(await operator.add(label, files)).toBe(true)
    expect(await namesIn(operator)).toEqual(['example.a'])
    // A failed cleanup does not make the command fail.
    failing.push(undefined, undefined, broken())
    expect([await operator.remove(label), await namesIn(operator)]).toEqual([true, []])
    expect(objects.size).toBeGreaterThan(1)
  })

  it('are served from the cache during an outage of up to an hour, with warnings', async () => {
    const { requests: asked, failing, packages, client } = opened()
    await packages().add(label, files)
    const told: string[] = []
    const server = new S3Packages({ client, bucket: 'b', now: () => time, warn: (line) => told.push(line) })
    const outage = () => void failing.push(...Array.from({ length: 1_000 }, () => new Error('no way')))
    outage()
    await expect(server.now()).rejects.toMatchObject({ fault: 'unavailable' })
    failing.length = 0
    const { state, packages: known } = await server.now()
    const began = new Date(time).toISOString()
    outage()
    asked.length = 0
    for (let second = 0; second < 30; second++, time += SECOND) expect((await server.now()).state).toBe(state)
    expect(asked.length).toBe(2)
    await expect(known[0]!.read('index.json')).rejects.toMatchObject({ fault: 'unavailable' })
    expect(told).toEqual([`The packages of definitions cannot be read (no way): those of ${began} count for an hour at most`])
    time += 60 * 60 * SECOND - 30 * SECOND
    await expect(server.now()).rejects.toMatchObject({ fault: 'unavailable' })
    failing.length = 0
    expect([(await server.now()).state, told.slice(1)]).toEqual([state, ['The packages of definitions can be read again']])
  })

  it('lose the unfinished files of failed additions after a day', async () => {
    const { objects, packages } = opened()
    const operator = packages()
    for (let i = 0; i < 12; i++) objects.set(`packages/example.b-1.0.0/x/${i}.json`, { text: '{}', written: time })
    await operator.add(label, files)
    expect(objects.size).toBe(14)
    time += DAY + SECOND
    await operator.add({ ...label, version: '2.0.0' }, files)
    expect([...objects.keys()].filter((key) => key.includes('example.b'))).toEqual([])
    expect(objects.size).toBe(3)
  })

  it('are reported as damaged if their index cannot be parsed', async () => {
    const { objects, packages } = opened()
    await packages().add(label, files)
    for (const text of ['', '{}', '{"packages":[]}', '{"change":"a","packages":[null]}']) {
      objects.set('packages/index.json', { text, written: time })
      await expect(packages().now()).rejects.toThrow('packages/index.json of the bucket is damaged')
      await expect(packages().remove(label)).rejects.toThrow('is damaged')
    }
  })

  it('are added although the first answer is lost and the retry is refused', async () => {
    const { objects, packages } = opened()
    const operator = packages()
    const lost = objects.set.bind(objects)
    // The put takes effect, but the answer says that the condition does not hold.
    let isLost = true
    objects.set = (key, value) => {
      lost(key, value)
      if (key === 'packages/index.json' && isLost) {
        isLost = false
        throw Object.assign(new Error('PreconditionFailed'), { $metadata: { httpStatusCode: 412 } })
      }
      return objects
    }
    expect(await operator.add(label, files)).toBe(true)
    isLost = true
    expect(await operator.remove(label)).toBe(true)
    expect(await namesIn(packages())).toEqual([])
  })
})
