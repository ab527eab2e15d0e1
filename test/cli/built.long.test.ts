import { helps } from './built.js'

helps([
  [['work', '--help'], /MIN_WORKERS.*\n.*SIGTSTP/s],
  [['publish', '--help'], /Usage: prefork publish \[options\] <task> \[args\]/],
  [['top', '--help'], /Usage: prefork top/],
  [['control', 'revoke', '--help'], /--terminate/],
  [['purge', '--help'], /--yes/],
  [['dlq', 'list', '--help'], /--limit/],
  [['dlq', 'retry', '--help'], /\[ids\.\.\.\]/],
])
