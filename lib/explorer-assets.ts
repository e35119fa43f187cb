/** Plugin of esbuild for the function that serves the explorer. */
import type { Plugin } from 'esbuild'
import { bundleExplorer } from '../lambdas/explorer/bundle.ts'

/** Replaces the function that bundles the explorer by its result, so that the deployed function contains the files of the pages. */
export function explorerAssets(): Plugin {
  return {
    name: 'explorer',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /\/explorer\/bundle\.ts$/ }, ({ importer }) =>
        importer.endsWith('/functions/pages/explorer.ts') ? { path: 'explorer', namespace: 'explorer', sideEffects: false } : undefined,
      )
      onLoad({ filter: /.*/, namespace: 'explorer' }, async () => ({
        contents: `const assets = ${JSON.stringify(await bundleExplorer())}\nexport const bundleExplorer = async () => assets`,
      }))
    },
  }
}
