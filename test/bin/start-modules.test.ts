/** Modules that the server loads: none of the explorer before the first request for it, so that the explorer costs a start nothing. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from '@jest/globals'
import { newFolder } from '../fixtures/at-end.ts'
import { startOpenServerUnder } from './process.ts'

const OF_EXPLORER = /\/lambdas\/explorer\/|\/node_modules\/(?:esbuild|@esbuild|preact|@preact|uplot)\//

it('a start loads no module of the explorer, and the first request for it loads them', async () => {
  const list = join(newFolder(), 'modules')
  // Writes the URL of each module that the process loads. https://nodejs.org/api/module.html#moduleregisterhooksoptions
  const hook = `
    import { appendFileSync } from 'node:fs'
    import { registerHooks } from 'node:module'
    registerHooks({ load(url, context, next) { appendFileSync(${JSON.stringify(list)}, url + '\\n'); return next(url, context) } })`
  const options = `--import=data:text/javascript,${encodeURIComponent(hook)}`
  const server = await startOpenServerUnder(['env', `NODE_OPTIONS=${options}`], '--memory')
  const loaded = (): readonly string[] => readFileSync(list, 'utf8').split('\n')
  expect((await fetch(`${server.base}/metadata`)).status).toBe(200)
  const before = loaded()
  expect(before.filter((url) => OF_EXPLORER.test(url))).toEqual([])
  // The list is that of the server: it has its own file of the explorer, which loads the others later.
  expect(before.filter((url) => /\/runtime\/embedded\/(?:server|explorer)\.ts$/.test(url))).toHaveLength(2)
  expect((await fetch(`${server.base}/explorer`)).status).toBe(200)
  expect(loaded().filter((url) => url.endsWith('/lambdas/explorer/explorer.ts'))).toHaveLength(1)
  expect(await server.stop()).toBe(0)
})
