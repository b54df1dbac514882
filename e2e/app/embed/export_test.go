package embed

// Kill ends the process of now by force, as a fault does.
func (e *Engine) Kill() { e.tree.Load().Kill() }
