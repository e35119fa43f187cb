/**
 * Program: node test/infra/partition-access.ts, with rows of JSON on its standard input. Sends each bundled function an event, with a state
 * table that contains only the data to verify a token, and prints the status and the requested partitions of each.
 */
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { deflateRawSync } from 'node:zlib'
import type { PublicKey } from '../../lambdas/ports/security/signing-keys.ts'

/** `bundle`: the file of a handler, loaded again for each row. */
export type PartitionRequest = { readonly bundle: string; readonly event: object }
export type PartitionResult = { readonly status: number; readonly partitions: readonly string[] }
export type PartitionInput = {
  readonly rows: readonly PartitionRequest[]
  readonly key: PublicKey
  readonly environment: Readonly<Record<string, string>>
}

type Called = { readonly Key?: { readonly pk: { readonly S: string } }; readonly RequestItems?: Readonly<Record<string, unknown>> }

const { rows, key, environment } = JSON.parse(await text(process.stdin)) as PartitionInput
const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')
const keys = [{ id: 'key', key, madeAt: 0 }]
const ITEMS: Readonly<Record<string, object>> = {
  SEAL: { key: { B: base64(new Uint8Array(32)) } },
  SIGNING_KEYS: { n: { N: '1' }, z: { B: base64(deflateRawSync(JSON.stringify(keys))) } },
}

let partitions: string[] = []
const server = createServer(async (request, response) => {
  const { Key, RequestItems }: Called = JSON.parse((await text(request)) || '{}')
  if (Key !== undefined) partitions.push(Key.pk.S)
  const item = ITEMS[Key?.pk.S ?? '']
  const answer = RequestItems === undefined ? { Items: [], ...(item && { Item: item }) } : { Responses: {}, UnprocessedItems: {} }
  response.writeHead(200, { 'content-type': 'application/x-amz-json-1.0' }).end(JSON.stringify(answer))
})
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
Object.assign(process.env, environment, { AWS_ENDPOINT_URL: endpoint, FHIR_SEARCH_ENDPOINT: endpoint, FHIR_SEARCH_SIGNING: 'none' })

const require = createRequire(import.meta.url)
const answers: PartitionResult[] = []
for (const { bundle, event } of rows) {
  for (const file of Object.keys(require.cache)) delete require.cache[file]
  partitions = []
  const { handler } = require(bundle) as { readonly handler: (event: object) => Promise<{ readonly statusCode: number }> }
  const { statusCode } = await handler(event)
  answers.push({ status: statusCode, partitions })
}
process.stdout.write(JSON.stringify(answers), () => process.exit())
