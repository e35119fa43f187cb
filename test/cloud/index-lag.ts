/** How long after the answer to a write its document is in the index. */
import { setTimeout as sleep } from 'node:timers/promises'

const WRITES = 40
const BETWEEN = 5
const PATIENCE = 10_000

/** `clients` write at once; median and 95th percentile, in milliseconds. */
export async function measureIndexLag(baseUrl: string, searchEndpoint: string, clients: number): Promise<string> {
  const lags: number[] = []
  const worker = async (client: number): Promise<void> => {
    for (let i = client; i < WRITES; i += clients) {
      const id = `lag-${clients}-${i}`
      const body = JSON.stringify({ resourceType: 'Basic', id, code: { text: 'x' } })
      const { status } = await fetch(`${baseUrl}/Basic/${id}`, {
        method: 'PUT',
        headers: { 'content-type': 'application/fhir+json' },
        body,
      })
      if (status >= 300) throw new Error(`PUT: ${status}`)
      lags.push(await waitForDocument(searchEndpoint, `_doc/default~Basic~${id}?_source=false`))
    }
  }
  await Promise.all(Array.from({ length: clients }, (_, client) => worker(client)))
  const sorted = lags.toSorted((a, b) => a - b)
  const at = (part: number): string => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))]!.toFixed(0)
  return `${at(0.5)}, ${at(0.95)}`
}

async function waitForDocument(searchEndpoint: string, document: string): Promise<number> {
  const began = performance.now()
  while (performance.now() - began < PATIENCE) {
    const index = await basicIndex(searchEndpoint)
    if (index !== undefined && (await fetch(`${searchEndpoint}/${index}/${document}`)).status === 200) return performance.now() - began
    await sleep(BETWEEN)
  }
  throw new Error(`not indexed in ${PATIENCE} ms: ${document}`)
}

const basicIndex = async (searchEndpoint: string): Promise<string | undefined> =>
  Object.keys((await (await fetch(`${searchEndpoint}/_alias/fhir-basic-*`)).json()) as object)[0]
