/**
 * A table restored as DynamoDB restores one, on MiniStack, which knows no instant but now, and does not say of a table what it was restored
 * from: who asks for that asks here. https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_RestoreSummary.html
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import type { AwsCalls, Tree } from './aws-calls.ts'

const DYNAMODB = 'DynamoDB_20120810'

export type Restores = {
  /** For functions: passes calls of DynamoDB on. */
  readonly endpoint: string
  /** `key`: encrypts it. All items as they are now, in another table; nothing else of it. The instant, as settings name it. */
  readonly restore: (from: string, to: string, key: string) => Promise<string>
  readonly close: () => Promise<void>
}

export async function startRestores(aws: AwsCalls): Promise<Restores> {
  const summaries = new Map<string, Tree>()
  const server = createServer((request, response) => {
    pass(aws.endpoint, summaries, request, response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { readonly port: number }
  return {
    endpoint: `http://127.0.0.1:${port}`,
    async restore(from, to, key) {
      const at = Math.floor(Date.now() / 1_000)
      const send = (operation: string, body: object): Promise<Tree> => aws.json('dynamodb', `${DYNAMODB}.${operation}`, body)
      const { TableDescription } = await send('RestoreTableToPointInTime', {
        ...{ SourceTableName: from, TargetTableName: to, UseLatestRestorableTime: true, BillingModeOverride: 'PAY_PER_REQUEST' },
      })
      // What a restore is told of encryption is not heeded there.
      await send('UpdateTable', { TableName: to, SSESpecification: { Enabled: true, SSEType: 'KMS', KMSMasterKeyId: key } })
      const SourceTableArn = TableDescription.TableArn.replace(/[^/]+$/, from)
      summaries.set(to, { SourceTableArn, RestoreDateTime: at, RestoreInProgress: false })
      return new Date(at * 1_000).toISOString()
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function pass(
  endpoint: string,
  summaries: ReadonlyMap<string, Tree>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const body = await buffer(request)
  const { host: _, connection: _connection, 'content-length': _length, ...headers } = request.headers as Record<string, string>
  const answer = await fetch(endpoint + request.url, { method: 'POST', headers, body })
  const { Table, ...rest }: Tree = await answer.json()
  const RestoreSummary = summaries.get(Table?.TableName)
  const description = RestoreSummary === undefined ? Table : { ...Table, RestoreSummary }
  response.writeHead(answer.status, { 'content-type': 'application/x-amz-json-1.0' }).end(JSON.stringify({ ...rest, Table: description }))
}
