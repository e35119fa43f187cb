/** Loads data again and again while work is running. */
import { useEffect, useState } from 'preact/hooks'
import type { Loaded } from './loaded.ts'

/** Milliseconds between the answer of one request and the next request. */
const PAUSE = 3_000

/**
 * Like `useLoaded`, and loads again every few seconds while `isRunning` returns true for the data and the page is open and visible. The
 * earlier data stays until the new data arrives. A failed request ends the polling until the person tries again.
 */
export function usePolled<Data>(
  load: () => Promise<Data>,
  key: string,
  isRunning: (data: Data) => boolean,
): readonly [Loaded<Data>, () => void] {
  const [turn, setTurn] = useState(0)
  const [loaded, setLoaded] = useState<Loaded<Data>>({ state: 'loading' })
  useEffect(() => setLoaded({ state: 'loading' }), [key])
  useEffect(() => {
    let isCurrent = true
    let timer: ReturnType<typeof setTimeout> | undefined
    const poll = () => {
      if (!isCurrent) return
      if (document.hidden) document.addEventListener('visibilitychange', poll, { once: true })
      else load().then(show, fail)
    }
    const show = (data: Data) => {
      if (!isCurrent) return
      setLoaded({ state: 'done', data })
      if (isRunning(data)) timer = setTimeout(poll, PAUSE)
    }
    const fail = (error: unknown) => isCurrent && setLoaded({ state: 'failed', error })
    load().then(show, fail)
    return () => {
      isCurrent = false
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', poll)
    }
  }, [key, turn])
  return [loaded, () => setTurn((before) => before + 1)]
}
