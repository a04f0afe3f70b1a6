from model import Net, fast

net = fast(Net(12).cuda())
