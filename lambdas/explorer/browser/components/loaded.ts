/** Loads data for a page, and shows that it is loading or that it failed. */
import { type ComponentChild, h } from 'preact'
import { useLayoutEffect, useState } from 'preact/hooks'
import { type Answer, Refusal } from '../http.ts'
import { Problem } from './problem.ts'

export type Loaded<Data> =
  | { readonly state: 'loading' }
  | { readonly state: 'done'; readonly data: Data }
  | { readonly state: 'failed'; readonly error: unknown }

/**
 * Calls `load` for each new `key`, and ignores its result if the key has changed since. Returns the current state, and a function that loads
 * again.
 */
export function useLoaded<Data>(load: () => Promise<Data>, key: string): readonly [Loaded<Data>, () => void] {
  const [turn, setTurn] = useState(0)
  const [loaded, setLoaded] = useState<Loaded<Data>>({ state: 'loading' })
  // Before the browser paints: an effect after it would send the request up to 16 ms later.
  useLayoutEffect(() => {
    let isCurrent = true
    setLoaded({ state: 'loading' })
    load().then(
      (data) => isCurrent && setLoaded({ state: 'done', data }),
      (error: unknown) => isCurrent && setLoaded({ state: 'failed', error }),
    )
    return () => {
      isCurrent = false
    }
  }, [key, turn])
  return [loaded, () => setTurn(turn + 1)]
}

/** Returns the answer for the requests of a page, also if it is a refusal. `answer`: of the data. */
export function answersOf<Data>(loaded: Loaded<Data>, answer: (data: Data) => Answer): readonly Answer[] {
  if (loaded.state === 'done') return [answer(loaded.data)]
  return loaded.state === 'failed' && loaded.error instanceof Refusal ? [loaded.error.answer] : []
}

type Props<Data> = { readonly loaded: Loaded<Data>; readonly retry: () => void; readonly show: (data: Data) => ComponentChild }

/** Shows the data, or its state. The text that data is loading appears after 300 ms, so that fast answers do not flicker. */
export function Show<Data>({ loaded, retry, show }: Props<Data>) {
  if (loaded.state === 'loading') return h('p', { class: 'loading', role: 'status' }, 'Loading …')
  return loaded.state === 'failed' ? h(Problem, { error: loaded.error, retry }) : show(loaded.data)
}
