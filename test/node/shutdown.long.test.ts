import { shutdownsUnderLoad } from './shutdown.js'

shutdownsUnderLoad(300)
