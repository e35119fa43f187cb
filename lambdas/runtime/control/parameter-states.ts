/** States of the search parameters of packages in an index. The running server reports its own. */
import { type CommandHandler, queryServer } from '../../adapters/filesystem/command-socket.ts'
import { packageParametersIn } from '../../indexing/all-tenants.ts'
import type { CustomParameter } from '../../indexing/custom-definitions.ts'
import type { PackageParameter } from '../../search/custom/package-parameters.ts'

/**
 * `states`: by type and code, as `Basic code`. `absent`: state of the parameters that the index does not have: it will build them, or it has no
 * capacity for them.
 */
export type ParameterStates = { readonly states: ReadonlyMap<string, BuildState>; readonly absent: 'building' | 'refused' }

type BuildState = CustomParameter['state']

/** Returns the states of the parameters of packages. A parameter that replaces another is building until then. */
export function buildStatesIn(parameters: { readonly definitions: readonly CustomParameter[] }): ParameterStates['states'] {
  const states = new Map<string, BuildState>()
  for (const { mapping, state } of packageParametersIn(parameters)) {
    const name = `${mapping.base} ${mapping.code}`
    if (states.get(name) !== 'building') states.set(name, state)
  }
  return states
}

/** Requests the states from the server of the folder. Returns undefined if none runs. */
export async function parameterStatesAt(folder: string): Promise<ParameterStates | undefined> {
  const answer = await queryServer(folder, 'parameter-states', '')
  return answer === undefined ? undefined : { states: new Map(JSON.parse(answer) as [string, BuildState][]), absent: 'refused' }
}

/** Returns the server's handler for the command `parameter-states`. `read`: reads the states once all packages are registered. */
export const parameterStateCommands = (
  read: () => Promise<ParameterStates['states']>,
): Readonly<Record<'parameter-states', CommandHandler>> => ({
  'parameter-states': async () => JSON.stringify([...(await read())]),
})

/** State of a parameter beside those of its definition. `waiting`: no server runs that could build it. */
export type ListedParameter = Omit<PackageParameter, 'state'> & { readonly state: PackageParameter['state'] | 'building' | 'waiting' }

/** Returns the parameter with its state in the index. `known`: undefined if no server runs. */
export function withBuildState(parameter: PackageParameter, known: ParameterStates | undefined): ListedParameter {
  if (parameter.state !== 'used') return parameter
  if (known === undefined) return { ...parameter, state: 'waiting' }
  const found = parameter.mappings.map(({ base, code }) => known.states.get(`${base} ${code}`) ?? known.absent)
  if (found.includes('building')) return { ...parameter, state: 'building' }
  return found.includes('active') ? parameter : { ...parameter, state: 'refused', reason: 'Parameters of tenants leave no capacity' }
}
