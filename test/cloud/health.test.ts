/** The health of a deployed stage, at the root of CloudFront's address. @cloud:here */
import { expect, it } from '@jest/globals'
import { eventually } from '../fixtures/eventually.ts'
import { runOnCloud } from './requested-deployment.ts'

runOnCloud('the health of a stage', { here: true }, () => {
  const ask = async (method = 'GET', path = '/health') => {
    const response = await fetch(new URL(path, process.env.FHIR_BASE_URL), { method })
    return { status: response.status, headers: response.headers, text: await response.text() }
  }

  it('is ready without a token, once a heartbeat has reached the index', async () => {
    const { headers, text } = await eventually(() => ask(), { until: ({ status }) => status === 200, every: 500 })
    expect(text).toMatch(/^\{"ready":true,"lag":\d+\}$/)
    expect([headers.get('content-type'), headers.get('cache-control')]).toEqual(['application/json', 'no-store'])
    const head = await ask('HEAD')
    expect([head.status, head.text]).toEqual([200, ''])
  })

  it('answers GET and HEAD only, and nothing else is at the root', async () => {
    const { status, headers } = await ask('POST')
    expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS'])
    expect((await ask('GET', '/health/1')).status).toBe(404)
  })
})
