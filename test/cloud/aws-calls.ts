/** Calls to AWS's APIs as a stand-in takes them: plain HTTP, with a signature nobody checks, so that no further SDK is needed. */

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects to be there
export type Tree = any

export type AwsCalls = {
  readonly endpoint: string
  /** The services that speak JSON: `target` is DynamoDB_20120810.ListTables. */
  readonly json: (service: string, target: string, body: object) => Promise<Tree>
  /** The services that speak in forms; the answer is XML. */
  readonly query: (service: string, form: Readonly<Record<string, string>>) => Promise<string>
  /** The services that speak in paths. */
  readonly send: (service: string, method: string, path: string, body?: Uint8Array<ArrayBuffer> | string) => Promise<string>
}

export class AwsCallFailed extends Error {}

const PATIENCE = 60_000

export function awsCalls(endpoint: string): AwsCalls {
  const call = async (
    service: string,
    method: string,
    path: string,
    headers: Readonly<Record<string, string>>,
    body?: Uint8Array<ArrayBuffer> | string,
  ): Promise<string> => {
    const authorization = `AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/${service}/aws4_request, SignedHeaders=host, Signature=0`
    const response = await fetch(endpoint + path, {
      method,
      headers: { ...headers, authorization },
      signal: AbortSignal.timeout(PATIENCE),
      ...(body === undefined ? {} : { body }),
    })
    const text = await response.text()
    if (!response.ok) throw new AwsCallFailed(`${service} ${method} ${path}: ${response.status} ${text.slice(0, 1_000)}`)
    return text
  }
  return {
    endpoint,
    async json(service, target, body) {
      const headers = { 'content-type': 'application/x-amz-json-1.0', 'x-amz-target': target }
      return JSON.parse((await call(service, 'POST', '/', headers, JSON.stringify(body))) || 'null')
    },
    query: (service, form) =>
      call(service, 'POST', '/', { 'content-type': 'application/x-www-form-urlencoded' }, new URLSearchParams(form).toString()),
    send: (service, method, path, body) => call(service, method, path, {}, body),
  }
}
