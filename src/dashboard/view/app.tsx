import { useInput, useStdout } from 'ink'
import { useEffect, useReducer } from 'react'
import { clearTimeout, setTimeout } from '../../util/node-time.js'
import type { Controller } from '../controller.js'
import { type Key, press } from '../keys.js'
import { Screen } from './screen.js'

/** ms between two frames, at least: any number of events within it costs one frame. */
const FRAME_TIME = 200
/** ms between two frames without an event: ages change. */
const IDLE_TIME = 1_000

/** The dashboard in a terminal: handles keys and draws frames. */
export const App = ({ controller }: { controller: Controller }) => {
  const { stdout } = useStdout()
  const [, draw] = useReducer((count: number) => count + 1, 0)
  useEffect(() => {
    let timer: NodeJS.Timeout | undefined
    const later = (ms: number): void => {
      timer = setTimeout(() => {
        // What the tick changes is in this frame.
        soon = true
        controller.tick()
        draw()
        later(IDLE_TIME)
        soon = false
      }, ms)
    }
    let soon = false
    later(IDLE_TIME)
    controller.onChange(() => {
      if (soon) return
      soon = true
      clearTimeout(timer)
      later(FRAME_TIME)
    })
    stdout.on('resize', draw)
    return () => {
      clearTimeout(timer)
      stdout.off('resize', draw)
      controller.onChange(() => {})
    }
  }, [controller, stdout])
  useInput((input, key) => {
    press(controller, { input, name: nameOf(key), ctrl: key.ctrl })
    // A key shows its effect at once.
    draw()
  })
  return <Screen controller={controller} size={{ columns: stdout.columns ?? 80, rows: stdout.rows ?? 24 }} />
}

type Pressed = Parameters<Parameters<typeof useInput>[0]>[1]

const NAMES = {
  upArrow: 'up',
  downArrow: 'down',
  pageUp: 'pageup',
  pageDown: 'pagedown',
  home: 'home',
  end: 'end',
  tab: 'tab',
  return: 'enter',
  escape: 'escape',
  // Terminals send for the key Backspace what Ink calls Delete.
  backspace: 'backspace',
  delete: 'backspace',
} as const

const nameOf = (pressed: Pressed): Key['name'] => {
  for (const [key, name] of Object.entries(NAMES)) if (pressed[key as keyof typeof NAMES]) return name
  return undefined
}
