/** A function asked as CloudFormation asks it, on behalf of a resource of a stack. */
import { createServer } from 'node:http'
import type { Tree } from './aws-calls.ts'
import type { InvocationResult } from './function-host.ts'

type Invoke = (event: object) => Promise<InvocationResult>

/** `properties`: as the template says them. What it tells others of the stack. */
export async function invokeCustomResource(
  invoke: Invoke,
  RequestType: 'Create' | 'Update' | 'Delete',
  properties: Readonly<Record<string, string>> = {},
): Promise<Tree> {
  const answered: Tree[] = []
  const server = createServer(async (request, response) => {
    answered.push(JSON.parse(Buffer.concat(await request.toArray()).toString()))
    response.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { readonly port: number }
  const names = { StackId: 'stack', RequestId: 'request', LogicalResourceId: 'Resource', ResourceProperties: properties }
  try {
    resultOf(await invoke({ RequestType, ResponseURL: `http://127.0.0.1:${port}/`, ...names }))
  } finally {
    server.close()
    server.closeAllConnections()
  }
  if (answered[0]?.Status !== 'SUCCESS') throw new Error(`${RequestType}: ${JSON.stringify(answered)}`)
  return answered[0].Data
}

export function resultOf(invoked: InvocationResult): Tree {
  if (!('result' in invoked)) throw new Error(`${invoked.kind}: ${invoked.message}`)
  return JSON.parse(invoked.result)
}
